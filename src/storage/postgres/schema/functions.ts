/**
 * The contested steps as functions of the database: one round trip each, whole or not at all.
 *
 * A batch of admissions or settlements is one change: each is decided as if it ran alone, in the given order,
 * and the results are written together. A defect of one undoes all. Every statement of a function sees what
 * was committed when the statement began, also after it waited for a lock, so a decision never uses a state
 * from before the wait.
 *
 * Locks are always taken in one order, so that steps wait for each other but never deadlock: the index of the
 * log, gates, consent, intents, tokens, idempotency key, budgets, leases, grant, rollback windows, approval request, passkey,
 * person, sessions, account, connected account, identity. Several locks of one kind have an order
 * too: gates by number, intents and sessions by id, windows by their key, all others by lineage, ancestors first.
 * Keys and grants are locked one at a time: a call with either is not batched. So are consents, approval
 * requests, passkeys, persons, accounts, connected accounts and identities.
 *
 * @module
 */

/** A number that no other program locks in this database. */
export const GATE = 0x77_72_69_74;

export const LINEAGE_FUNCTIONS = `
-- Which token of a lineage is the first from the root that is dead, and why. A revocation anywhere
-- comes before any expiry.
CREATE FUNCTION writ_judge(p_lineage text[], p_now timestamptz)
RETURNS TABLE (exclusive text[], fault text, culprit text) LANGUAGE sql STABLE AS $$
  SELECT l.exclusive, CASE WHEN l.revoked IS NOT NULL THEN 'revoked'
    WHEN l.expired IS NOT NULL THEN 'expired' END, coalesce(l.revoked, l.expired)
  FROM (
    SELECT (array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.revoked_at IS NOT NULL))[1]
        AS revoked,
      (array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.expires_at <= p_now))[1] AS expired,
      array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.concurrent_branches = 'exclusive')
        AS exclusive
    FROM tokens t WHERE t.token_id = ANY (p_lineage)
  ) l;
$$;

-- Holds every token of a lineage until the end of the transaction, and judges it.
--
-- The lock is what orders a revocation before or after an admission. Shared locks alone would let a
-- stream of admissions keep a revocation waiting for ever, since each joins those that hold the row;
-- the gate is a queue, in which what comes after the revocation waits behind it.
CREATE FUNCTION writ_hold_lineage(
  p_token_id text, p_now timestamptz,
  OUT o_lineage text[], OUT o_exclusive text[], OUT o_fault text, OUT o_culprit text
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.lineage INTO o_lineage FROM tokens t WHERE t.token_id = p_token_id;
  IF NOT FOUND THEN
    o_fault := 'unknown_token';
    o_culprit := p_token_id;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(${GATE}, hashtext(o_lineage[1]));

  PERFORM FROM tokens t WHERE t.token_id = ANY (o_lineage) ORDER BY t.lineage FOR SHARE;
  SELECT j.exclusive, j.fault, j.culprit INTO o_exclusive, o_fault, o_culprit
  FROM writ_judge(o_lineage, p_now) j;
END $$;

-- Makes room for one child under a living parent, or says why not and changes nothing.
CREATE FUNCTION writ_claim_child(
  p_token_id text, p_lineage text[], p_parent_id text, p_now timestamptz, p_max integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_lineage text[];
  v_fault text;
BEGIN
  SELECT o_lineage, o_fault INTO v_lineage, v_fault FROM writ_hold_lineage(p_parent_id, p_now);
  IF v_fault IS NOT NULL THEN
    RETURN CASE v_fault WHEN 'unknown_token' THEN 'parent_unknown' ELSE 'parent_' || v_fault END;
  END IF;
  IF p_lineage IS DISTINCT FROM v_lineage || p_token_id THEN
    RAISE EXCEPTION 'Cannot keep token "%": its lineage is not its parent''s', p_token_id;
  END IF;

  INSERT INTO families AS f (token_id, children) SELECT p_parent_id, 1 WHERE p_max >= 1
  ON CONFLICT (token_id) DO UPDATE SET children = f.children + 1 WHERE f.children < p_max;
  RETURN CASE WHEN FOUND THEN 'inserted' ELSE 'too_many' END;
END $$;
`;

export const CLAIM_FUNCTIONS = `
CREATE FUNCTION writ_refuse(p_refusal jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'refused: %', p_refusal ->> 'reason'
    USING ERRCODE = 'WR001', DETAIL = p_refusal::text;
END $$;

-- Amounts are text: a JSON number beyond 2^53 would not survive its reader. Declared no stricter than
-- what it calls, or it could not be inlined.
CREATE FUNCTION writ_budget(b budgets) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('token_id', b.token_id, 'currency', b.currency, 'max', b.max::text,
    'reserved', b.reserved::text, 'consumed', b.consumed::text);
$$;

-- Claims the key, or refuses with the operation that has it. Of two that claim at once the second
-- waits for the first to commit or to roll back. A key that need not be kept any longer is free,
-- unless its call is still open; one that is deleted meanwhile is claimed at the second attempt.
CREATE FUNCTION writ_claim_key(p_key jsonb, p_operation_id text, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR attempt IN 1..2 LOOP
    INSERT INTO idempotency
      (root_principal, subject, capability, key, fingerprint, operation_id, keep_until)
    VALUES (p_key ->> 'root_principal', p_key ->> 'subject', p_key ->> 'capability',
      p_key ->> 'key', p_key ->> 'fingerprint', p_operation_id,
      (p_key ->> 'keepUntil')::timestamptz)
    ON CONFLICT (root_principal, subject, capability, key) DO NOTHING;
    IF FOUND THEN RETURN; END IF;

    UPDATE idempotency i SET fingerprint = p_key ->> 'fingerprint', operation_id = p_operation_id,
      answer = NULL, keep_until = (p_key ->> 'keepUntil')::timestamptz
    WHERE i.root_principal = p_key ->> 'root_principal' AND i.subject = p_key ->> 'subject'
      AND i.capability = p_key ->> 'capability' AND i.key = p_key ->> 'key'
      AND i.keep_until <= p_now AND NOT EXISTS (
        SELECT FROM intents o WHERE o.operation_id = i.operation_id AND o.state = 'admitted');
    IF FOUND THEN RETURN; END IF;
  END LOOP;
  PERFORM writ_refuse('{"reason": "key"}');
END $$;

CREATE FUNCTION writ_take_grant(p_use jsonb, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE grants g SET uses = g.uses + 1
  WHERE g.grant_id = p_use ->> 'grant_id' AND g.uses < g.max_uses AND g.expires_at > p_now
    AND g.capability = p_use ->> 'capability'
    AND g.contract_version = p_use ->> 'contract_version'
    AND g.parameters_digest = p_use ->> 'parameters_digest'
    AND g.subject = p_use ->> 'subject' AND g.root_principal = p_use ->> 'root_principal'
    AND (g.grant_type <> 'session_bound' OR g.session_id = p_use ->> 'session_id');
  IF NOT FOUND THEN PERFORM writ_refuse('{"reason": "grant"}'); END IF;
END $$;
`;

export const RELEASE_FUNCTIONS = `
-- Turns a reservation into what was spent, on every token it was made on, root first.
CREATE FUNCTION writ_spend(p_tokens text[], p_reserved bigint, p_spent bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_token_id text;
BEGIN
  FOREACH v_token_id IN ARRAY p_tokens LOOP
    UPDATE budgets b SET reserved = b.reserved - p_reserved, consumed = b.consumed + p_spent
    WHERE b.token_id = v_token_id;
  END LOOP;
END $$;

-- Lets go of what an operation holds, root first, and answers how many leases those were.
CREATE FUNCTION writ_release_leases(p_tokens text[], p_operation_id text)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_token_id text;
  v_count integer := 0;
BEGIN
  FOREACH v_token_id IN ARRAY p_tokens LOOP
    UPDATE leases l SET operation_id = NULL
    WHERE l.token_id = v_token_id AND l.operation_id = p_operation_id;
    IF FOUND THEN v_count := v_count + 1; END IF;
  END LOOP;
  RETURN v_count;
END $$;
`;
