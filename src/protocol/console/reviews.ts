/**
 * What the methods of the console answer about tools of others that a person reviews.
 *
 * @module
 */

export interface ToolReviews {
  readonly reviews: readonly ShownReview[];
  /** How many more wait. */
  readonly more: number;
  readonly servers: readonly ToolServer[];
  /** Tools of the policy that are off, each with one sentence. The others are in the manifest. */
  readonly off: readonly { readonly name: string; readonly why: string }[];
}

/** Where tools of others are. */
export interface ToolServer {
  /** Its command or address, as the operator wrote it. */
  readonly where: string;
  /** How many tools it has; null while it does not list them. */
  readonly tools: number | null;
}

/** A tool of others that is not as it was reviewed. All its text is that of its server. */
export interface ToolReview {
  readonly name: string;
  readonly kind: 'new' | 'changed' | 'gone';
  /** Of the tool as it is now; absent where it is gone. */
  readonly digest?: string | undefined;
  /** The whole tool as it is now; absent where it is gone. */
  readonly now?: object | undefined;
  /** What differs, such as the description, perhaps cut; a text is empty on the side where there is none. */
  readonly parts: readonly {
    readonly part: string;
    readonly before: string;
    readonly now: string;
  }[];
}

export interface ShownReview extends ToolReview {
  /** False where it is too long for a page: then no text is here, and it cannot be accepted there. */
  readonly is_whole: boolean;
}
