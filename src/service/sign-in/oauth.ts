/**
 * What the authorization server takes and answers: fields, tokens, and refusals with the codes of OAuth.
 *
 * @module
 */

/** The codes of RFC 6749, 7591, 8693, 8707 and 9396 that this service answers with. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_redirect_uri'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_authorization_details'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable';

export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The fields of a form, each at most once. */
export type Fields = Readonly<Record<string, string | undefined>>;

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string | undefined;
  readonly issued_token_type?: string | undefined;
  /** Who acts for whom, the nearest first (RFC 8693). */
  readonly act?: object | undefined;
}
