/**
 * Runs the work of one key in order.
 *
 * The database lets requests of one root principal in one after the other; of this process only the next one waits
 * there, so that the others hold no connection.
 *
 * @module
 */

export function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
