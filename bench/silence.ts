/**
 * Measurements without an answer: the run goes on, says which they are, and ends with exit code 1.
 *
 * @module
 */

/** What stands in the place of a figure. */
export const NO_ANSWER = 'no answer';

const silent: string[] = [];

export function isAllAnswered(): boolean {
  return silent.length === 0;
}

/** Undefined where the work gets no answer. */
export async function orNoAnswer<Result>(
  name: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    return noAnswer(name, error);
  }
}

function noAnswer(name: string, error: unknown): undefined {
  silent.push(name);
  const reason = error instanceof Error ? error.message : String(error);
  console.error(`${name}: ${NO_ANSWER}: ${reason}`);
}
