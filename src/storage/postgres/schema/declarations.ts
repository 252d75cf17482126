/**
 * Declarations: approval requests and grants get the digest of the declaration they were made for, and the
 * store keeps the declarations that the service last ran with.
 *
 * Older requests and grants stay without a digest and are bound by the contract version alone. Two of the
 * indexes count, at a start, what a changed declaration makes unusable.
 *
 * @module
 */

const APPROVALS = `
ALTER TABLE approval_requests ADD COLUMN declaration_digest text;
ALTER TABLE grants ADD COLUMN declaration_digest text;
DROP INDEX approval_requests_asked;
CREATE UNIQUE INDEX approval_requests_asked ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')),
    (coalesce(declaration_digest, '')))
  WHERE is_asked;
CREATE INDEX approval_requests_open ON approval_requests (capability, expires_at)
  WHERE status = 'pending';
CREATE INDEX grants_unused ON grants (capability, expires_at) WHERE uses < max_uses;
`;

const KEPT = `
CREATE TABLE declarations (
  capability text PRIMARY KEY,
  contract_version text NOT NULL,
  digest text NOT NULL,
  declaration text NOT NULL,
  kept_at timestamptz NOT NULL
);
`;

const FUNCTIONS = `
CREATE OR REPLACE FUNCTION writ_take_grant(p_use jsonb, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE grants g SET uses = g.uses + 1
  WHERE g.grant_id = p_use ->> 'grant_id' AND g.uses < g.max_uses AND g.expires_at > p_now
    AND g.expires_at = (p_use ->> 'expires_at')::timestamptz
    AND g.max_uses = (p_use ->> 'max_uses')::integer
    AND g.capability = p_use ->> 'capability'
    AND g.contract_version = p_use ->> 'contract_version'
    AND g.declaration_digest IS NOT DISTINCT FROM p_use ->> 'declaration_digest'
    AND g.parameters_digest = p_use ->> 'parameters_digest'
    AND g.chain = p_use ->> 'chain'
    AND (g.grant_type <> 'session_bound' OR g.session_id = p_use ->> 'session_id');
  IF NOT FOUND THEN PERFORM writ_refuse('{"reason": "grant"}'); END IF;
END $$;
`;

export const DECLARATIONS = [APPROVALS, KEPT, FUNCTIONS].join('');
