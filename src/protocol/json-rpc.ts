/**
 * The reserved error codes of JSON-RPC 2.0, for every transport that uses it.
 *
 * @module
 */

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
