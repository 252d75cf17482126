/**
 * The codes of errors that JSON-RPC 2.0 reserves, for every transport that speaks it.
 *
 * @module
 */

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
