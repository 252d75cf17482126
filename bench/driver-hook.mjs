/**
 * Gives a program the driver of the benchmark where it asks for that of SQLite.
 *
 * @module
 */

const DRIVER = new URL('driver.mjs', import.meta.url).href;

export function resolve(specifier, context, next) {
  if (specifier !== '@photostructure/sqlite' || context.parentURL === DRIVER) {
    return next(specifier, context);
  }
  return { url: DRIVER, shortCircuit: true };
}
