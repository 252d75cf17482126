/**
 * The contested steps as functions of the database: one round trip each, whole or not at all. Admission and settlement
 * of a batch use them (`batches.ts`).
 *
 * A batch of admissions or settlements is one change: each is decided as if it ran alone, in the given order,
 * and the results are written together. A defect of one undoes all. Every statement of a function sees what
 * was committed when the statement began, also after it waited for a lock, so a decision never uses a state
 * from before the wait.
 *
 * The database has no key. Node verifies rows when it loads them and passes what it saw to the step: the
 * MACs, times and kinds of the tokens of a lineage as one text, the ceilings of its budgets by token. A
 * locked row that differs ends the step as `altered`.
 *
 * Locks are always taken in one order, so that steps wait for each other but never deadlock: the index of the
 * log, gates, consent, intents, tokens, idempotency key, budgets, leases, grant, rollback windows, root principal,
 * approval request, person, passkey, sessions, account, connected account, identity, invitation. Several locks of one kind have an order
 * too: gates by number, intents and sessions by id, windows by their key, all others by lineage, ancestors first.
 * Keys and grants are locked one at a time: a call with either is not batched. So are consents, approval
 * requests, passkeys, persons, accounts, connected accounts, identities and invitations.
 *
 * @module
 */

/** A number that no other program locks in this database. */
export const GATE = 0x77_72_69_74;

const LINEAGES = `
-- Which token of a lineage is the first from the root that is dead, and why. A revocation anywhere
-- comes before any expiry. The MAC of a revocation is one, whatever became of its time.
CREATE FUNCTION writ_judge(p_lineage text[], p_now timestamptz, p_sealed text DEFAULT NULL)
RETURNS TABLE (exclusive text[], fault text, culprit text) LANGUAGE sql STABLE AS $$
  SELECT l.exclusive, CASE WHEN l.sealed <> p_sealed THEN 'altered'
    WHEN l.revoked IS NOT NULL THEN 'revoked' WHEN l.expired IS NOT NULL THEN 'expired' END,
    coalesce(l.revoked, l.expired, p_lineage[cardinality(p_lineage)])
  FROM (
    SELECT (array_agg(t.token_id ORDER BY cardinality(t.lineage))
        FILTER (WHERE t.revoked_at IS NOT NULL OR t.revoked_mac IS NOT NULL))[1] AS revoked,
      (array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.expires_at <= p_now))[1] AS expired,
      array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.concurrent_branches = 'exclusive')
        AS exclusive,
      string_agg(t.token_id || ' ' || coalesce(t.mac, '') || ' '
          || (extract(epoch FROM t.expires_at) * 1000)::bigint || ' ' || t.concurrent_branches,
        ',' ORDER BY cardinality(t.lineage)) AS sealed
    FROM tokens t WHERE t.token_id = ANY (p_lineage)
  ) l;
$$;

-- Holds every token of a lineage until the end of the transaction, and judges it.
--
-- The lock is what orders a revocation before or after an admission. Shared locks alone would let a
-- stream of admissions keep a revocation waiting for ever, since each joins those that hold the row;
-- the gate is a queue, in which what comes after the revocation waits behind it.
CREATE FUNCTION writ_hold_lineage(
  p_token_id text, p_now timestamptz, p_sealed text DEFAULT NULL,
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
  FROM writ_judge(o_lineage, p_now, p_sealed) j;
END $$;

-- Makes room for one child under a living parent, or says why not and changes nothing.
CREATE FUNCTION writ_claim_child(
  p_token_id text, p_lineage text[], p_parent_id text, p_now timestamptz, p_max integer,
  p_sealed text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_lineage text[];
  v_fault text;
BEGIN
  SELECT o_lineage, o_fault INTO v_lineage, v_fault
  FROM writ_hold_lineage(p_parent_id, p_now, p_sealed);
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

-- Holds all tokens of these lineages, each behind its gate, and returns their ids. A token that is inserted after this
-- read is not among them, since its ancestors are not locked; a call with it is refused.
CREATE FUNCTION writ_hold_lineages(p_tokens text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  v_held text[] := ARRAY(
    SELECT DISTINCT unnest(t.lineage) FROM tokens t WHERE t.token_id = ANY (p_tokens));
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${GATE}, g.number) FROM (
    SELECT DISTINCT hashtext(t.lineage[1]) AS number FROM tokens t
    WHERE t.token_id = ANY (v_held) ORDER BY number
  ) g;
  PERFORM FROM tokens t WHERE t.token_id = ANY (v_held) ORDER BY t.lineage FOR SHARE;
  RETURN v_held;
END $$;
`;

const CLAIMS = `
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

CREATE FUNCTION writ_take_grant(p_use jsonb, p_now timestamptz)
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

const BUDGETS_AND_LEASES = `
CREATE FUNCTION writ_hold_budgets(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM budgets b JOIN tokens t ON t.token_id = b.token_id
  WHERE b.token_id = ANY (p_tokens) ORDER BY t.lineage FOR NO KEY UPDATE OF b;
END $$;

CREATE FUNCTION writ_hold_leases(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM leases l JOIN tokens t ON t.token_id = l.token_id
  WHERE l.token_id = ANY (p_tokens) ORDER BY t.lineage FOR NO KEY UPDATE OF l;
END $$;

-- Takes the lease of each of these tokens, or answers which has none to give, and takes none.
CREATE FUNCTION writ_take_leases(
  p_tokens text[], p_operation_id text, p_now timestamptz, p_until timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_busy record;
BEGIN
  SELECT l.token_id, l.until INTO v_busy FROM leases l
  WHERE l.token_id = ANY (p_tokens) AND l.operation_id IS NOT NULL AND l.until > p_now
  ORDER BY array_position(p_tokens, l.token_id) LIMIT 1;
  IF FOUND THEN
    RETURN jsonb_build_object('reason', 'busy', 'token_id', v_busy.token_id, 'until', v_busy.until);
  END IF;
  UPDATE leases l SET operation_id = p_operation_id, fence = l.fence + 1, until = p_until
  WHERE l.token_id = ANY (p_tokens);
  RETURN NULL;
END $$;

-- Finds the lease of each of these tokens with the operation under which a call runs, or answers which is not there.
CREATE FUNCTION writ_find_leases(p_tokens text[], p_operation_id text, p_now timestamptz)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('reason', 'busy', 'token_id', l.token_id, 'until', greatest(l.until, p_now))
  FROM leases l
  WHERE l.token_id = ANY (p_tokens) AND l.operation_id IS DISTINCT FROM p_operation_id
  ORDER BY array_position(p_tokens, l.token_id) LIMIT 1;
$$;

-- A token that was never leased gets a free lease first, so that there is a row to hold.
CREATE FUNCTION writ_make_leases(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO leases (token_id, operation_id, fence, until)
  SELECT t.token_id, NULL, 0, '-infinity' FROM tokens t
  WHERE t.token_id = ANY (p_tokens)
    AND NOT EXISTS (SELECT FROM leases l WHERE l.token_id = t.token_id)
  ORDER BY t.lineage ON CONFLICT (token_id) DO NOTHING;
END $$;

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

export const FUNCTIONS = [LINEAGES, CLAIMS, BUDGETS_AND_LEASES].join('');
