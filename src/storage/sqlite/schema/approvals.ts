/**
 * The tables of approvals and notifications, as the first version made them, and later columns.
 *
 * @module
 */

export const APPROVALS = `
  CREATE TABLE approval_requests (
    approval_request_id TEXT NOT NULL PRIMARY KEY,
    capability          TEXT NOT NULL,
    contract_version    TEXT NOT NULL,
    scope               TEXT NOT NULL CHECK (json_type(scope) = 'array'),
    subject             TEXT NOT NULL,
    root_principal      TEXT NOT NULL,
    session_id          TEXT,
    invocation_id       TEXT NOT NULL,
    parameters          TEXT NOT NULL CHECK (json_type(parameters) = 'object'),
    parameters_digest   TEXT NOT NULL,
    preview             TEXT CHECK (json_type(preview) = 'object'),
    preview_digest      TEXT,
    grant_policy        TEXT NOT NULL CHECK (json_type(grant_policy) = 'object'),
    approvals_required  INTEGER NOT NULL CHECK (approvals_required > 0),
    status              TEXT NOT NULL
      CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    decided_at          INTEGER,
    decided_by          TEXT,
    reason              TEXT,
    grant_id            TEXT UNIQUE,
    CHECK ((status = 'approved') = (grant_id IS NOT NULL))
  ) STRICT;
  CREATE INDEX approval_requests_by_age ON approval_requests (created_at, approval_request_id);
  CREATE INDEX approval_requests_pending ON approval_requests (expires_at)
    WHERE status = 'pending';
  CREATE INDEX approval_requests_asked ON approval_requests
    (subject, root_principal, capability, contract_version, parameters_digest)
    WHERE status = 'pending';

  CREATE TABLE approvals (
    approval_request_id TEXT NOT NULL REFERENCES approval_requests,
    approver            TEXT NOT NULL,
    place               INTEGER NOT NULL CHECK (place >= 0),
    approved_at         INTEGER NOT NULL,
    PRIMARY KEY (approval_request_id, approver),
    UNIQUE (approval_request_id, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE grants (
    grant_id            TEXT NOT NULL PRIMARY KEY,
    approval_request_id TEXT NOT NULL UNIQUE REFERENCES approval_requests,
    capability          TEXT NOT NULL,
    contract_version    TEXT NOT NULL,
    scope               TEXT NOT NULL CHECK (json_type(scope) = 'array'),
    subject             TEXT NOT NULL,
    root_principal      TEXT NOT NULL,
    parameters          TEXT NOT NULL CHECK (json_type(parameters) = 'object'),
    parameters_digest   TEXT NOT NULL,
    preview_digest      TEXT,
    grant_type          TEXT NOT NULL CHECK (grant_type IN ('one_time', 'session_bound')),
    session_id          TEXT,
    approved_by         TEXT NOT NULL CHECK (json_array_length(approved_by) > 0),
    issued_at           INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    max_uses            INTEGER NOT NULL CHECK (max_uses > 0),
    uses                INTEGER NOT NULL CHECK (uses BETWEEN 0 AND max_uses),
    signature           TEXT NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    place               INTEGER PRIMARY KEY,
    delivery_id         TEXT NOT NULL UNIQUE,
    event               TEXT NOT NULL CHECK (event IN ('requested', 'granted', 'denied', 'expired')),
    approval_request_id TEXT NOT NULL REFERENCES approval_requests,
    target              TEXT NOT NULL,
    payload             TEXT NOT NULL CHECK (json_type(payload) = 'object'),
    state               TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts            INTEGER NOT NULL CHECK (attempts >= 0),
    last_error          TEXT,
    next_attempt_at     INTEGER,
    delivered_at        INTEGER,
    leased_until        INTEGER
  ) STRICT;
  CREATE INDEX deliveries_pending ON deliveries (next_attempt_at, place) WHERE state = 'pending';
`;

/** Every principal in the lineage of the requesting token: none of them may approve. */
export const REQUESTED_THROUGH = `
  ALTER TABLE approval_requests ADD COLUMN requested_through TEXT NOT NULL DEFAULT '[]'
    CHECK (json_type(requested_through) = 'array');
`;

/** Every principal in the lineage of each approver's token: none of them may use the grant. */
export const APPROVED_THROUGH = `
  ALTER TABLE grants ADD COLUMN approved_through TEXT NOT NULL DEFAULT '[]'
    CHECK (json_type(approved_through) = 'array');
`;
