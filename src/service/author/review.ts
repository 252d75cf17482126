/**
 * Reviews: the port by which the console lists the tools of others that changed since their review, and accepts one.
 *
 * The service knows nothing of these tools. It asks the port, shows what it answers as text of strangers, and records
 * who accepted what before the port is asked to accept it.
 *
 * @module
 */

import type { ToolReview, ToolServer } from '../../protocol/console/reviews.ts';

/** What stands between a service and the tools of others. */
export interface ReviewPort {
  /** The tools that are new, changed or gone since their last review. Rejects when that cannot be found out now. */
  changes(): Promise<readonly ToolReview[]>;
  /** How many tools `changes()` has. Every open page asks for it again and again: it reads memory only. */
  waiting(): number;
  /** What the tools come from, as it was heard last. */
  servers(): readonly ToolServer[];
  /**
   * Takes the tool `name` as reviewed by the principal `by`. Rejects, and changes nothing, when the tool no longer has
   * this digest.
   */
  accept(name: string, digest: string, by: string): Promise<void>;
}
