/**
 * Chains: tokens, keys, approval requests and grants get a chain of principals; votes get the terms they
 * approve.
 *
 * An older store knew requesters by name. Its tokens and idempotency keys get the chain of their lineage, in
 * the form of `domain/authority/chain.ts`. Its pending requests expire, and its grants stay without a chain,
 * so that no token can use them: one name may have been several chains.
 *
 * @module
 */

const TOKENS = `
ALTER TABLE tokens ADD COLUMN chain text;
UPDATE tokens t SET chain = c.chain FROM (
  SELECT n.token_id, 'sha256:' || encode(sha256(convert_to(
    '[' || string_agg(to_json(n.name)::text, ',' ORDER BY n.place) || ']', 'UTF8')), 'hex') AS chain
  FROM (
    SELECT d.token_id, h.place, h.name,
      lag(h.name) OVER (PARTITION BY d.token_id ORDER BY h.place) AS before
    FROM tokens d, LATERAL (
      SELECT 0::bigint AS place, d.root_principal AS name
      UNION ALL
      SELECT l.place, a.subject FROM unnest(d.lineage) WITH ORDINALITY AS l (token_id, place)
      JOIN tokens a ON a.token_id = l.token_id
    ) h
  ) n
  WHERE n.name IS DISTINCT FROM n.before GROUP BY n.token_id
) c WHERE c.token_id = t.token_id;
ALTER TABLE tokens ALTER COLUMN chain SET NOT NULL;
`;

/** The chain contains the root principal and the subject, so two old keys never become one. */
const KEYS = `
ALTER TABLE idempotency ADD COLUMN chain text;
UPDATE idempotency k SET chain = t.chain
FROM intents i JOIN tokens t ON t.token_id = i.token_id WHERE i.operation_id = k.operation_id;
ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey, ALTER COLUMN chain SET NOT NULL;
ALTER TABLE idempotency ADD PRIMARY KEY (chain, capability, key),
  DROP COLUMN root_principal, DROP COLUMN subject;
`;

const APPROVALS = `
ALTER TABLE approval_requests ADD COLUMN chain text;
UPDATE approval_requests
SET is_asked = false, expires_at = least(expires_at, date_trunc('milliseconds', now()))
WHERE status = 'pending';
DROP INDEX approval_requests_asked;
CREATE UNIQUE INDEX approval_requests_asked ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')))
  WHERE is_asked;

ALTER TABLE approvals ADD COLUMN terms jsonb;

ALTER TABLE grants ADD COLUMN chain text;
`;

const FUNCTIONS = `
CREATE OR REPLACE FUNCTION writ_claim_key(p_key jsonb, p_operation_id text, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR attempt IN 1..2 LOOP
    INSERT INTO idempotency (chain, capability, key, fingerprint, operation_id, keep_until)
    VALUES (p_key ->> 'chain', p_key ->> 'capability', p_key ->> 'key', p_key ->> 'fingerprint',
      p_operation_id, (p_key ->> 'keepUntil')::timestamptz)
    ON CONFLICT (chain, capability, key) DO NOTHING;
    IF FOUND THEN RETURN; END IF;

    UPDATE idempotency i SET fingerprint = p_key ->> 'fingerprint', operation_id = p_operation_id,
      answer = NULL, keep_until = (p_key ->> 'keepUntil')::timestamptz
    WHERE i.chain = p_key ->> 'chain'
      AND i.capability = p_key ->> 'capability' AND i.key = p_key ->> 'key'
      AND i.keep_until <= p_now AND NOT EXISTS (
        SELECT FROM intents o WHERE o.operation_id = i.operation_id AND o.state = 'admitted');
    IF FOUND THEN RETURN; END IF;
  END LOOP;
  PERFORM writ_refuse('{"reason": "key"}');
END $$;

CREATE OR REPLACE FUNCTION writ_take_grant(p_use jsonb, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE grants g SET uses = g.uses + 1
  WHERE g.grant_id = p_use ->> 'grant_id' AND g.uses < g.max_uses AND g.expires_at > p_now
    AND g.capability = p_use ->> 'capability'
    AND g.contract_version = p_use ->> 'contract_version'
    AND g.parameters_digest = p_use ->> 'parameters_digest'
    AND g.chain = p_use ->> 'chain'
    AND (g.grant_type <> 'session_bound' OR g.session_id = p_use ->> 'session_id');
  IF NOT FOUND THEN PERFORM writ_refuse('{"reason": "grant"}'); END IF;
END $$;
`;

export const CHAINS = [TOKENS, KEYS, APPROVALS, FUNCTIONS].join('');
