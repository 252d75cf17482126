/**
 * Style sheets, which the build puts beside the script.
 *
 * @module
 */

declare module '*.css';
