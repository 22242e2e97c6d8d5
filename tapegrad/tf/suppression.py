"""`tf.image`: of boxes that overlap, the best ones.  What is picked has no derivative."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf.convert import fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.tensor import Tensor

#: How much of two numbered boxes is shared, from 0 to 1.
Overlap = Callable[[int, int], float]


def _inputs(boxes: Any, scores: Any, iou_threshold: Any, width: int | None = 4) -> tuple[Any, Any, float]:
    box, score, limit = host(boxes), host(scores), float(iou_threshold)
    if width and (box.ndim != 2 or box.shape[1] != width or score.shape != box.shape[:1]):
        raise invalid("NonMaxSuppression", f"expected boxes (n, {width}) and scores (n), got {list(box.shape)} and {list(score.shape)}")
    if not 0 <= limit <= 1:
        raise invalid("NonMaxSuppression", f"iou_threshold must be in [0, 1], got {limit}")
    return box.astype(np.float32), score.astype(np.float32), limit


def shared(box: Any) -> Overlap:
    """The shared part of the area of two boxes, each given by two opposite corners."""
    low, high = np.minimum(box[:, :2], box[:, 2:]), np.maximum(box[:, :2], box[:, 2:])
    area = np.prod(high - low, axis=1)

    def of(i: int, j: int) -> float:
        if area[i] <= 0 or area[j] <= 0:
            return 0.0
        inner = np.prod(np.maximum(np.minimum(high[i], high[j]) - np.maximum(low[i], low[j]), 0))
        return float(inner / (area[i] + area[j] - inner))

    return of


def picked(score: Any, overlap: Overlap, most: int, limit: float, least: float, sigma: float = 0.0) -> tuple[list[int], list[float]]:
    """The numbers of the best boxes and their scores: one that overlaps a better one is left out, or with `sigma` its score is
    made smaller (N. Bodla et al., "Soft-NMS", 2017, equation 2) and it waits for its turn again."""
    waiting = [(-float(s), k, 0) for k, s in enumerate(score) if s > least]
    heapq.heapify(waiting)
    kept: list[int] = []
    scores: list[float] = []
    while waiting and len(kept) < most:
        negative, k, begin = heapq.heappop(waiting)
        s, out = -negative, False
        for j in range(len(kept) - 1, begin - 1, -1):
            together = overlap(k, kept[j])
            if not sigma:
                out = together > limit
            else:
                s = float(np.float32(s * math.exp(-0.5 / sigma * together * together)))
                out = s <= least
            if out:
                break
        if out:
            continue
        if s == -negative:
            kept.append(k)
            scores.append(s)
        else:
            heapq.heappush(waiting, (-s, k, len(kept)))
    return kept, scores


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes that do not overlap a better one, the best first."""
    box, score, limit = _inputs(boxes, scores, iou_threshold)
    kept, _ = picked(score, shared(box), int(max_output_size), limit, float(score_threshold))
    return fresh(np.asarray(kept, np.int32))


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The numbers of the best boxes and their scores; with `soft_nms_sigma` overlaps make scores smaller."""
    box, score, limit = _inputs(boxes, scores, iou_threshold)
    kept, own = picked(score, shared(box), int(max_output_size), limit, float(score_threshold), float(soft_nms_sigma))
    return fresh(np.asarray(kept, np.int32)), fresh(np.asarray(own, np.float32))


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes that do not overlap a better one, for a matrix of how much they do."""
    table, score, limit = _inputs(overlaps, scores, overlap_threshold, None)
    if table.shape != (score.size, score.size):
        raise invalid("NonMaxSuppressionWithOverlaps", f"overlaps must be {score.size} x {score.size}, got {list(table.shape)}")
    kept, _ = picked(score, lambda i, j: float(table[i, j]), int(max_output_size), limit, float(score_threshold))
    return fresh(np.asarray(kept, np.int32))


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """The numbers of the boxes that do not overlap a better one, filled up with zeros if asked for, and how many they are.

    For batches (..., n, 4) the numbers are always filled up.
    """
    box, score = host(boxes), host(scores)
    size, least = int(max_output_size), float(score_threshold)
    if box.ndim > 2:
        if not pad_to_max_output_size:
            raise ValueError("pad_to_max_output_size=False is not supported for batches of boxes: their numbers differ")
        rows = [
            non_max_suppression_padded(b, s, size, iou_threshold, least, True)
            for b, s in zip(box.reshape(-1, *box.shape[-2:]), score.reshape(-1, score.shape[-1]), strict=True)
        ]
        front = box.shape[:-2]
        return (
            fresh(np.stack([host(r[0]) for r in rows]).reshape(*front, size)),
            fresh(np.stack([host(r[1]) for r in rows]).reshape(front)),
        )
    found = host(non_max_suppression(box, score, size, iou_threshold, least))
    filled = np.pad(found, (0, size - found.size)) if pad_to_max_output_size else found
    return fresh(filled), fresh(np.int32(found.size))


class CombinedNonMaxSuppression(NamedTuple):
    """The best boxes of each image, with their scores and classes, and how many of them there are."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of all classes: boxes (n, k, q, 4), where q is 1 or the number of classes, and scores (n, k, classes)."""
    box, score = host(boxes).astype(np.float32), host(scores).astype(np.float32)
    if box.ndim != 4 or score.ndim != 3 or box.shape[:2] != score.shape[:2] or box.shape[2] not in (1, score.shape[2]):
        raise invalid(
            "CombinedNonMaxSuppression",
            f"expected boxes (n, k, q, 4) and scores (n, k, classes) with q 1 or the number of classes, got {list(box.shape)} and "
            f"{list(score.shape)}",
        )
    each, total, limit = int(max_output_size_per_class), int(max_total_size), float(iou_threshold)
    if each <= 0 or total <= 0:
        raise invalid("CombinedNonMaxSuppression", f"max_output_size_per_class and max_total_size must be > 0, got {each} and {total}")
    classes = score.shape[2]
    size = min(total, each * classes) if pad_per_class else total
    n = len(box)
    found = np.zeros((n, size, 4), np.float32), np.zeros((n, size), np.float32), np.zeros((n, size), np.float32)
    count = np.zeros(n, np.int32)
    for b in range(n):
        best: list[tuple[float, int, int]] = []
        for c in range(classes):
            own = box[b, :, c if box.shape[2] > 1 else 0]
            kept, values = picked(score[b, :, c], shared(own), each, limit, float(score_threshold))
            best += [(-s, c, k) for s, k in zip(values, kept, strict=True)]
        best = sorted(best, key=lambda e: e[0])[:size]
        count[b] = len(best)
        for place, (negative, c, k) in enumerate(best):
            corners = box[b, k, c if box.shape[2] > 1 else 0]
            found[0][b, place] = np.clip(corners, 0, 1) if clip_boxes else corners
            found[1][b, place], found[2][b, place] = -negative, c
    return CombinedNonMaxSuppression(fresh(found[0]), fresh(found[1]), fresh(found[2]), fresh(count))
