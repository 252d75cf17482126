/**
 * Reviews: the port by which the console lists the tools of others that changed since their review, and accepts one.
 *
 * The service knows nothing of these tools. It asks the port, shows what it answers as text of strangers, and records
 * who accepted what before the port is asked to accept it.
 *
 * @module
 */

import type { ToolReview } from '../../protocol/console/reviews.ts';

/** What stands between a service and the tools of others. */
export interface ReviewPort {
  /** The tools that are new, changed or gone since their last review. Rejects when that cannot be found out now. */
  changes(): Promise<readonly ToolReview[]>;
  /**
   * Takes the tool `name` as reviewed by the principal `by`. Rejects, and changes nothing, when the tool no longer has
   * this digest.
   */
  accept(name: string, digest: string, by: string): Promise<void>;
}
