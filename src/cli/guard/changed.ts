/**
 * What a person reviews of a tool: every text that changed, whole. A review must not cover what was not shown.
 *
 * @module
 */

import { userInfo } from 'node:os';
import { changedTexts, type ToolChange } from '../../guard/pins.ts';
import type { ToolReview } from '../../protocol/console/reviews.ts';

/** The changes that a review puts into force. A tool that the policy does not name stays off in any case. */
export function toolReviews(changes: readonly ToolChange[]): ToolReview[] {
  return changes.filter(({ isNamed }) => isNamed).map(toolReview);
}

export function toolReview({ name, kind, before, now, digest }: ToolChange): ToolReview {
  const parts = changedTexts(before, now);
  return { name, kind, ...(digest !== undefined && { digest }), ...(now && { now }), parts };
}

/** Who reviews a tool at a terminal: the user of this machine. */
export function reviewer(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
