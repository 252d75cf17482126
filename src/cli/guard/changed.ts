/**
 * What a person reviews of a tool: every text that changed, whole. A review must not cover what was not shown.
 *
 * @module
 */

import { leavesOf, type ToolChange } from '../../guard/pins.ts';
import type { UpstreamTool } from '../../guard/upstream.ts';
import type { ToolReview } from '../../protocol/console/reviews.ts';

/** The changes that a review puts into force. A tool that the policy does not name stays off in any case. */
export function toolReviews(changes: readonly ToolChange[]): ToolReview[] {
  return changes.filter(({ isNamed }) => isNamed).map(toolReview);
}

export function toolReview({ name, kind, before, now, digest }: ToolChange): ToolReview {
  const parts = partsOf(before, now);
  return { name, kind, ...(digest !== undefined && { digest }), ...(now && { now }), parts };
}

function partsOf(before: UpstreamTool | undefined, now: UpstreamTool | undefined) {
  const [old, fresh] = [before, now].map((tool) => (tool ? leavesOf(tool) : NO_LEAVES));
  const paths = new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])]);
  return [...paths]
    .map((part) => ({ part, before: old?.get(part) ?? '', now: fresh?.get(part) ?? '' }))
    .filter((part) => part.before !== part.now);
}

const NO_LEAVES: ReadonlyMap<string, string> = new Map();
