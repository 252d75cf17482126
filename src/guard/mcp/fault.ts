/**
 * Why an upstream cannot be asked, in our own words: messages of libraries and of the upstream stay out.
 *
 * @module
 */

interface FaultFacts {
  /** Whether the upstream may have received the request. */
  readonly mayHaveActed: boolean;
  /** Whether the upstream answered, but with something that cannot be passed on. */
  readonly isAnswered?: boolean;
  /** Whether the connection is of no more use. */
  readonly isLost?: boolean;
}

/** The message is the end of a sentence, such as "no answer in 30000 ms". */
export class UpstreamFault extends Error {
  override readonly name = 'UpstreamFault';
  readonly mayHaveActed: boolean;
  readonly isAnswered: boolean;
  readonly isLost: boolean;

  constructor(why: string, { mayHaveActed, isAnswered = false, isLost = false }: FaultFacts) {
    super(why);
    this.mayHaveActed = mayHaveActed;
    this.isAnswered = isAnswered;
    this.isLost = isLost;
  }
}

/** Our own fault inside what a library throws; `undefined` where there is none. */
export function faultIn(error: unknown): UpstreamFault | undefined {
  let found = error;
  for (let depth = 0; depth < CAUSES_MAX && found instanceof Error; depth++) {
    if (found instanceof UpstreamFault) return found;
    found = found.cause;
  }
  return undefined;
}

const CAUSES_MAX = 5;

/** The code of a system error, such as ECONNREFUSED. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,63}$/.test(code) ? code : undefined;
}
