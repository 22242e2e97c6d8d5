"""The older home of `torch.hub.load_state_dict_from_url`."""

from tapegrad.torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
