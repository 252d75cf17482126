/**
 * Open approval requests: under which name each is counted, how many bytes it keeps, and the index that counts them.
 *
 * The index has every column of the count, so counting reads no row. Requests that are closed stay without both.
 *
 * @module
 */

export const OPEN_REQUESTS = `
  ALTER TABLE approval_requests ADD COLUMN delegate TEXT;
  ALTER TABLE approval_requests ADD COLUMN kept_bytes INTEGER CHECK (kept_bytes >= 0);
  UPDATE approval_requests SET
    delegate = coalesce((SELECT value FROM json_each(requested_through)
      WHERE value <> root_principal ORDER BY key LIMIT 1), root_principal),
    kept_bytes = octet_length(parameters) + coalesce(octet_length(preview), 0)
      + coalesce(octet_length(note), 0)
    WHERE status = 'pending';
  CREATE INDEX approval_requests_waiting ON approval_requests
    (root_principal, expires_at, delegate, kept_bytes) WHERE status = 'pending';
`;
