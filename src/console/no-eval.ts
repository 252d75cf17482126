/**
 * Keeps zod from making code out of text. The policy of the pages refuses that, and a browser reports even the
 * attempt. zod reads the setting when it makes its first schema, so this comes before every other import.
 *
 * @module
 */

Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });
