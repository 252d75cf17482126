/**
 * Tables of approvals: requests, votes, grants, and notices that are to be sent.
 *
 * The indexes find pending requests by expiry, the requests of one requester for one capability, the newest request
 * of a question, and the grants with which an equal call can continue. Each has every column that its list is filtered
 * by, so a page reads no other row. A grant without a use left is in no index.
 *
 * @module
 */

/**
 * `requested_through` and `approved_through` are the principals in the lineage of the requesting token and of each
 * approver's token: none of the first may approve, none of the second may use the grant. `delegate` and `kept_bytes` say
 * under which name an open request is counted and what it keeps.
 */
export const APPROVALS = `
  CREATE TABLE approval_requests (
    approval_request_id TEXT NOT NULL PRIMARY KEY,
    capability          TEXT NOT NULL,
    contract_version    TEXT NOT NULL,
    declaration_digest  TEXT,
    scope               TEXT NOT NULL CHECK (json_type(scope) = 'array'),
    token_id            TEXT,
    subject             TEXT NOT NULL,
    root_principal      TEXT NOT NULL,
    chain               TEXT,
    requested_through   TEXT NOT NULL DEFAULT '[]' CHECK (json_type(requested_through) = 'array'),
    delegate            TEXT,
    session_id          TEXT,
    invocation_id       TEXT NOT NULL,
    parameters          TEXT NOT NULL CHECK (json_type(parameters) = 'object'),
    parameters_digest   TEXT NOT NULL,
    preview             TEXT CHECK (json_type(preview) = 'object'),
    preview_digest      TEXT,
    cost                TEXT CHECK (json_type(cost) = 'object'),
    note                TEXT,
    kept_bytes          INTEGER CHECK (kept_bytes >= 0),
    grant_policy        TEXT NOT NULL CHECK (json_type(grant_policy) = 'object'),
    approvals_required  INTEGER NOT NULL CHECK (approvals_required > 0),
    require             TEXT,
    status              TEXT NOT NULL
      CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    decided_at          INTEGER,
    decided_by          TEXT,
    reason              TEXT,
    grant_id            TEXT UNIQUE,
    mac                 TEXT,
    CHECK ((status = 'approved') = (grant_id IS NOT NULL))
  ) STRICT;
  CREATE INDEX approval_requests_by_age ON approval_requests (created_at, approval_request_id);
  CREATE INDEX approval_requests_asked ON approval_requests
    (chain, capability, contract_version, parameters_digest) WHERE status = 'pending';
  CREATE INDEX approval_requests_by_question ON approval_requests
    (chain, capability, contract_version, parameters_digest, session_id, created_at);
  CREATE INDEX approval_requests_open ON approval_requests (capability, expires_at)
    WHERE status = 'pending';
  CREATE INDEX approval_requests_pending ON approval_requests
    (expires_at, approval_request_id, capability) WHERE status = 'pending';
  CREATE INDEX approval_requests_by_asker ON approval_requests
    (chain, capability, created_at, approval_request_id, status, expires_at);
  CREATE INDEX approval_requests_approved ON approval_requests
    (chain, capability, created_at, approval_request_id) WHERE status = 'approved';
  CREATE INDEX approval_requests_waiting ON approval_requests
    (root_principal, expires_at, delegate, kept_bytes) WHERE status = 'pending';

  CREATE TABLE approvals (
    approval_request_id TEXT NOT NULL REFERENCES approval_requests,
    approver            TEXT NOT NULL,
    place               INTEGER NOT NULL CHECK (place >= 0),
    approved_at         INTEGER NOT NULL,
    terms               TEXT CHECK (json_type(terms) = 'object'),
    credential_id       TEXT,
    mac                 TEXT,
    PRIMARY KEY (approval_request_id, approver),
    UNIQUE (approval_request_id, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE grants (
    grant_id            TEXT NOT NULL PRIMARY KEY,
    approval_request_id TEXT NOT NULL UNIQUE REFERENCES approval_requests,
    capability          TEXT NOT NULL,
    contract_version    TEXT NOT NULL,
    declaration_digest  TEXT,
    scope               TEXT NOT NULL CHECK (json_type(scope) = 'array'),
    subject             TEXT NOT NULL,
    root_principal      TEXT NOT NULL,
    chain               TEXT,
    parameters          TEXT NOT NULL CHECK (json_type(parameters) = 'object'),
    parameters_digest   TEXT NOT NULL,
    preview_digest      TEXT,
    grant_type          TEXT NOT NULL CHECK (grant_type IN ('one_time', 'session_bound')),
    session_id          TEXT,
    approved_by         TEXT NOT NULL CHECK (json_array_length(approved_by) > 0),
    approved_through    TEXT NOT NULL DEFAULT '[]' CHECK (json_type(approved_through) = 'array'),
    issued_at           INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    max_uses            INTEGER NOT NULL CHECK (max_uses > 0),
    uses                INTEGER NOT NULL CHECK (uses BETWEEN 0 AND max_uses),
    signature           TEXT NOT NULL,
    mac                 TEXT
  ) STRICT;
  CREATE INDEX grants_waiting ON grants
    (chain, capability, contract_version, parameters_digest, expires_at, grant_id)
    WHERE uses < max_uses;
  CREATE INDEX grants_unused ON grants (capability, expires_at) WHERE uses < max_uses;

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
  -- By target first, so that the notices of a target that is left out are not read.
  CREATE INDEX deliveries_due ON deliveries (target, next_attempt_at, place)
    WHERE state = 'pending';
`;
