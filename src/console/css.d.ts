/**
 * What the build and the engines of browsers add to the language.
 *
 * @module
 */

/** Style sheets, which the build puts beside the script. */
declare module '*.css';

/** Of V8; shared code sets it where it exists. */
interface ErrorConstructor {
  stackTraceLimit: number;
}
