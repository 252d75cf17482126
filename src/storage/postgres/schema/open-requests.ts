/**
 * Open approval requests: under which name each is counted, how many bytes it keeps, and the index that counts them.
 *
 * The index has every column of the count. Requests that are closed stay without both.
 *
 * @module
 */

export const OPEN_REQUESTS = `
ALTER TABLE approval_requests ADD COLUMN delegate text;
ALTER TABLE approval_requests ADD COLUMN kept_bytes integer CHECK (kept_bytes >= 0);
UPDATE approval_requests SET
  delegate = coalesce((SELECT name FROM unnest(requested_through) WITH ORDINALITY AS u (name, place)
    WHERE name <> root_principal ORDER BY place LIMIT 1), root_principal),
  kept_bytes = octet_length(parameters::text) + coalesce(octet_length(preview::text), 0)
    + coalesce(octet_length(note), 0)
  WHERE status = 'pending';
CREATE INDEX approval_requests_waiting ON approval_requests
  (root_principal, expires_at) INCLUDE (delegate, kept_bytes) WHERE status = 'pending';
`;
