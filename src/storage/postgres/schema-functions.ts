/**
 * The contested steps as functions of the database: one round trip each, whole or not at all.
 *
 * A refusal raises, which rolls back everything the step took before. Every statement of a function
 * sees what was committed when the statement began, also after it waited for a lock, so a decision
 * is never made on what was true before the wait.
 *
 * Locks are always taken in one order, so that steps wait for each other but never in a circle:
 * gate, intent, tokens from root to leaf, idempotency key, budgets from root to leaf, grant, leases
 * from root to leaf. `schema-batches.ts` keeps that order where many steps share a transaction.
 *
 * @module
 */

/** Any number that no other program of the same database locks. */
export const GATE = 0x77_72_69_74;

export const LINEAGE_FUNCTIONS = `
-- Holds every token of a lineage until the end of the transaction, and says which is the first from
-- the root that is dead, and why. A revocation anywhere comes before any expiry.
--
-- The lock is what orders a revocation before or after an admission. Shared locks alone would let a
-- stream of admissions keep a revocation waiting for ever, since each joins those that hold the row;
-- the gate is a queue, in which what comes after the revocation waits behind it.
CREATE FUNCTION writ_hold_lineage(
  p_token_id text, p_now timestamptz,
  OUT o_lineage text[], OUT o_exclusive text[], OUT o_fault text, OUT o_culprit text
) LANGUAGE plpgsql AS $$
DECLARE
  v_revoked text;
  v_expired text;
BEGIN
  SELECT t.lineage INTO o_lineage FROM tokens t WHERE t.token_id = p_token_id;
  IF NOT FOUND THEN
    o_fault := 'unknown_token';
    o_culprit := p_token_id;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(${GATE}, hashtext(o_lineage[1]));

  SELECT (array_agg(h.token_id) FILTER (WHERE h.revoked_at IS NOT NULL))[1],
    (array_agg(h.token_id) FILTER (WHERE h.expires_at <= p_now))[1],
    array_agg(h.token_id) FILTER (WHERE h.concurrent_branches = 'exclusive')
  INTO v_revoked, v_expired, o_exclusive
  FROM (
    SELECT t.token_id, t.revoked_at, t.expires_at, t.concurrent_branches FROM tokens t
    WHERE t.token_id = ANY (o_lineage) ORDER BY cardinality(t.lineage) FOR SHARE
  ) h;
  o_culprit := coalesce(v_revoked, v_expired);
  o_fault := CASE WHEN v_revoked IS NOT NULL THEN 'revoked'
    WHEN v_expired IS NOT NULL THEN 'expired' END;
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

export const ADMIT_FUNCTIONS = `
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

-- Reserves on every budget of the lineage, root first, and answers them.
CREATE FUNCTION writ_reserve(
  p_lineage text[], p_currency text, p_amount bigint, OUT o_budgets jsonb, OUT o_charged text[]
) LANGUAGE plpgsql AS $$
DECLARE
  v_budget budgets;
  v_taken budgets;
BEGIN
  o_budgets := '[]';
  o_charged := '{}';
  FOR v_budget IN SELECT b.* FROM budgets b WHERE b.token_id = ANY (p_lineage)
    ORDER BY array_position(p_lineage, b.token_id)
  LOOP
    IF p_amount IS NULL THEN
      o_budgets := o_budgets || writ_budget(v_budget);
      CONTINUE;
    END IF;
    IF v_budget.currency <> p_currency THEN
      PERFORM writ_refuse(jsonb_build_object('reason', 'currency',
        'budget', writ_budget(v_budget)));
    END IF;
    UPDATE budgets b SET reserved = b.reserved + p_amount
    WHERE b.token_id = v_budget.token_id AND p_amount <= b.max - b.reserved - b.consumed
    RETURNING b.* INTO v_taken;
    IF NOT FOUND THEN
      SELECT b.* INTO v_budget FROM budgets b WHERE b.token_id = v_budget.token_id;
      PERFORM writ_refuse(jsonb_build_object('reason', 'budget',
        'budget', writ_budget(v_budget)));
    END IF;
    o_budgets := o_budgets || writ_budget(v_taken);
    o_charged := o_charged || v_taken.token_id;
  END LOOP;
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

CREATE FUNCTION writ_take_leases(
  p_tokens text[], p_operation_id text, p_now timestamptz, p_until timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_token_id text;
BEGIN
  FOREACH v_token_id IN ARRAY p_tokens LOOP
    INSERT INTO leases AS l (token_id, operation_id, fence, until)
    VALUES (v_token_id, p_operation_id, 1, p_until)
    ON CONFLICT (token_id) DO UPDATE
      SET operation_id = p_operation_id, fence = l.fence + 1, until = p_until
      WHERE l.operation_id IS NULL OR l.until <= p_now;
    IF NOT FOUND THEN
      PERFORM writ_refuse(jsonb_build_object('reason', 'busy', 'token_id', v_token_id,
        'until', (SELECT l.until FROM leases l WHERE l.token_id = v_token_id)));
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION writ_admit(
  p_intent jsonb, p_now timestamptz, p_currency text, p_amount bigint, p_key jsonb,
  p_grant jsonb, p_lease_until timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_held record;
  v_freeze jsonb;
  v_reserved record;
BEGIN
  v_held := writ_hold_lineage(p_intent ->> 'token_id', p_now);
  IF v_held.o_fault IS NOT NULL THEN
    PERFORM writ_refuse(jsonb_build_object('reason', v_held.o_fault,
      'token_id', v_held.o_culprit));
  END IF;

  -- A plain read is enough: this statement sees every freeze that was acknowledged before it began,
  -- and so every one acknowledged before the admission was asked for. Nothing is promised about a
  -- freeze that comes while the admission is under way. The widest is told: the names of the kinds
  -- happen to be in that order.
  SELECT to_jsonb(f) INTO v_freeze FROM freezes f
  WHERE (f.what, f.target) IN (('service', ''), ('capability', p_intent ->> 'capability'),
      ('root_principal', p_intent ->> 'root_principal'))
    AND (f.until IS NULL OR f.until > p_now)
  ORDER BY f.what DESC LIMIT 1;
  IF FOUND THEN
    PERFORM writ_refuse(jsonb_build_object('reason', 'frozen', 'freeze', v_freeze));
  END IF;

  IF p_key IS NOT NULL THEN
    PERFORM writ_claim_key(p_key, p_intent ->> 'operation_id', p_now);
  END IF;
  v_reserved := writ_reserve(v_held.o_lineage, p_currency, p_amount);
  IF p_grant IS NOT NULL THEN PERFORM writ_take_grant(p_grant, p_now); END IF;
  IF v_held.o_exclusive IS NOT NULL THEN
    PERFORM writ_take_leases(v_held.o_exclusive, p_intent ->> 'operation_id', p_now,
      p_lease_until);
  END IF;

  INSERT INTO intents (operation_id, state, invocation_id, token_id, subject, root_principal,
    capability, currency, amount, reserved, charged, leased, is_keyed, facts, instance_id,
    admitted_at, result, composing)
  VALUES (p_intent ->> 'operation_id', 'admitted', p_intent ->> 'invocation_id',
    p_intent ->> 'token_id', p_intent ->> 'subject', p_intent ->> 'root_principal',
    p_intent ->> 'capability', p_intent ->> 'currency', (p_intent ->> 'amount')::bigint,
    coalesce(p_amount, 0), v_reserved.o_charged, coalesce(v_held.o_exclusive, '{}'),
    p_key IS NOT NULL, p_intent -> 'facts', p_intent ->> 'instance_id',
    (p_intent ->> 'admitted_at')::timestamptz, v_reserved.o_budgets,
    (p_intent ->> 'composing')::json);
  RETURN v_reserved.o_budgets;
END $$;
`;

export const SETTLE_FUNCTIONS = `
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

-- 'settled': done now. 'repeated': done before, with this entry. 'superseded': done before, otherwise.
CREATE FUNCTION writ_settle(
  p_operation_id text, p_outcome text, p_actual bigint, p_bindings jsonb, p_answer bytea,
  p_now timestamptz, p_still_runs boolean, p_rollback jsonb, p_entry_id text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_intent intents;
  v_spent bigint;
BEGIN
  SELECT i.* INTO v_intent FROM intents i WHERE i.operation_id = p_operation_id FOR UPDATE;
  IF v_intent.state = 'settled' THEN
    RETURN CASE WHEN v_intent.entry_id = p_entry_id THEN 'repeated' ELSE 'superseded' END;
  END IF;
  IF v_intent.state IS DISTINCT FROM 'admitted' THEN
    RAISE EXCEPTION 'Cannot settle "%": it was not admitted', p_operation_id;
  END IF;
  v_spent := CASE p_outcome WHEN 'no_effect' THEN 0 WHEN 'indeterminate' THEN v_intent.reserved
    ELSE coalesce(p_actual, v_intent.reserved) END;
  IF p_actual < 0 OR p_actual > v_intent.reserved THEN
    RAISE EXCEPTION 'Cannot settle "%": % was spent, % reserved', p_operation_id, p_actual,
      v_intent.reserved;
  END IF;

  IF v_intent.is_keyed THEN
    UPDATE idempotency k SET answer = p_answer WHERE k.operation_id = p_operation_id;
  END IF;
  PERFORM writ_spend(v_intent.charged, v_intent.reserved, v_spent);
  IF NOT p_still_runs
    AND writ_release_leases(v_intent.leased, p_operation_id) <> cardinality(v_intent.leased)
    AND p_outcome <> 'indeterminate' THEN
    RAISE EXCEPTION 'superseded' USING ERRCODE = 'WR002';
  END IF;
  IF p_bindings IS NOT NULL THEN
    INSERT INTO bindings
      (binding_id, type, capability, root_principal, currency, amount, data, issued_at)
    SELECT b.binding_id, b.type, b.capability, b.root_principal, b.currency, b.amount, b.data,
      b.issued_at FROM jsonb_populate_recordset(NULL::bindings, p_bindings) b;
  END IF;
  IF p_rollback IS NOT NULL THEN
    INSERT INTO rollbacks AS r (capability, root_principal, digest, until)
    SELECT n.capability, n.root_principal, n.digest, n.until
    FROM jsonb_populate_record(NULL::rollbacks, p_rollback) n
    ON CONFLICT (capability, root_principal, digest)
      DO UPDATE SET until = greatest(r.until, EXCLUDED.until);
  END IF;
  IF v_intent.composing IS NOT NULL AND NOT p_still_runs THEN
    DELETE FROM steps s WHERE s.operation_id = p_operation_id;
  END IF;
  UPDATE intents i SET state = 'settled', outcome = p_outcome, consumed = v_spent,
    entry_id = p_entry_id, settled_at = p_now,
    composing = CASE WHEN p_still_runs THEN i.composing END
  WHERE i.operation_id = p_operation_id;
  RETURN 'settled';
END $$;
`;
