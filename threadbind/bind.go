package threadbind

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// Actor is the person behind a command or a spawn.
type Actor struct {
	// User is the stable id, as "channel:id". Empty: the platform did not say,
	// and whatever needs an owner is refused.
	User string
	// Operator may override anybody.
	Operator bool
}

// Request asks for a binding.
type Request struct {
	// ID is the id of the new record; empty takes a fresh one. A spawn gives
	// its own, so that a repeated unit of work asks for the same record.
	ID string
	// At is where it was asked for, Kind the kind of that conversation.
	At   core.Address
	Kind core.ConversationKind
	// Session and SessionKey name the target; they may be missing in a spawn,
	// whose session is created in the transaction of Activate.
	Session    int64
	SessionKey string
	Target     core.TargetKind
	Agent      string
	// Label is what people call the target: its label or its task name.
	Label string
	// Actor becomes the owner; in a spawn it is the person whose message led
	// to it, if there is one.
	Actor Actor
	// Automatic is set for a spawn with thread: true.
	Automatic bool
	// Placement overrides the configured one; empty does not.
	Placement core.Placement
	// Place binds this place instead of choosing one: a thread that exists
	// already, on the channel and account of At. A hook supplies it.
	Place *core.Address
	// Idle and MaxAge are limits of the record's own; nil for the configured.
	Idle, MaxAge *time.Duration
	// Deadline is an absolute end, 0 for none.
	Deadline core.Millis
	// RunID is the run that asks, "" for a person.
	RunID string
	// Intent marks the request for the adapter, the same after a restart;
	// empty is the record's id. Text is the first text of the thread, on
	// platforms whose threads grow from a message.
	Intent, Text string
}

// Plan is what Prepare decided.
type Plan struct {
	// Binding is the record: pending, or active where Focus bound in place. It
	// is zero where the spawn runs unbound.
	Binding core.Binding
	// Child is the thread to open before Activate; nil where the place exists.
	Child *core.ChildRequest
	// Unbound says why an automatic request gets no binding, for the note of
	// the spawn; empty otherwise.
	Unbound string
}

// Opened returns what Activate needs where there is nothing to open.
func (p Plan) Opened() Opened {
	return Opened{Address: p.Binding.Address, Data: p.Binding.Data}
}

// Prepare decides where a binding goes and reserves it: afterwards a pending
// record exists, unless the plan is unbound. It is the first transaction of a
// spawn or of a /focus that opens a thread. It refuses with the codes
// bindings_disabled, spawn_sessions_disabled, not_bindable, already_focused,
// not_owner, quota and target_unknown.
//
// A binding that holds the place ends as replaced, if its owner or an operator
// asks; an automatic request never replaces one.
func (s *Service) Prepare(tx Tx, req Request, now core.Millis) (Plan, Changes, error) {
	var c Changes
	set := s.settings(req.At)
	switch {
	case !set.Enabled:
		return Plan{}, c, refuseDisabled(set)
	case !req.Automatic && req.Actor.User == "":
		return Plan{}, c, refuseUnknownSender()
	}
	if req.Session != 0 || !req.Automatic {
		if err := s.checkTarget(tx, &req); err != nil {
			return Plan{}, c, err
		}
	}
	holder, held, err := s.holder(tx, req, now, &c)
	if err != nil {
		return Plan{}, c, err
	}
	caps := s.capabilities(req.At)
	decision, err := s.place(req, set, caps, held)
	if err != nil || decision.Unbound != "" {
		return Plan{Unbound: decision.Unbound}, c, err
	}
	b := s.record(req, decision.Placement)
	inPlace := held && hasPlace(b.Address)
	if inPlace {
		if err := mayReplace(holder, req); err != nil {
			return Plan{}, c, err
		}
	}
	if err := s.checkQuota(tx, b.Owner, set, inPlace && holder.Owner == b.Owner); err != nil {
		return Plan{}, c, err
	}
	switch { // nothing is refused from here on
	case inPlace:
		err = s.replace(tx, holder, &b, now, &c)
	case hasPlace(b.Address):
		err = s.inherit(tx, &b)
	}
	if err != nil {
		return Plan{}, c, err
	}
	plan := Plan{Binding: b}
	if !hasPlace(b.Address) {
		plan.Child = childRequest(req, b, caps)
	}
	return plan, c, s.insert(tx, b)
}

// Restore rebuilds the plan of a record after a restart, from the request that
// Prepare was given; found is false if the record has ended or is unknown. If
// the record is active, the earlier process got through, and nothing is left
// to do.
func (s *Service) Restore(tx Tx, id string, req Request) (plan Plan, found bool, err error) {
	b, found, err := tx.BindingByID(id)
	if err != nil || !found || !b.Status.Live() {
		return Plan{}, false, err
	}
	plan.Binding = b
	if !hasPlace(b.Address) {
		plan.Child = childRequest(req, b, s.capabilities(req.At))
	}
	return plan, true, nil
}

// Focus is Prepare for a person's /focus, and in place also Activate: if the
// plan has no child, the binding is active and its intro is the answer to the
// command. The same session focused again where it is bound, by its owner,
// restarts its clock there, whatever the placement is.
func (s *Service) Focus(tx Tx, req Request, now core.Millis) (Plan, Changes, error) {
	again, c, err := s.refocus(tx, req, now)
	if err != nil || again.ID != "" {
		return Plan{Binding: again}, c, err
	}
	plan, more, err := s.Prepare(tx, req, now)
	c.Add(more)
	if err != nil || plan.Child != nil {
		return plan, c, err
	}
	plan.Binding, more, err = s.Activate(tx, plan.Binding.ID, plan.Opened(), now)
	c.Add(more)
	return plan, c, err
}

// refocus restarts a binding that already is what req asks for; without one it
// returns a zero binding.
func (s *Service) refocus(tx Tx, req Request, now core.Millis) (core.Binding, Changes, error) {
	var c Changes
	if !s.settings(req.At).Enabled || req.Actor.User == "" || req.Placement == core.PlacementChild {
		return core.Binding{}, c, nil // Prepare refuses, or opens a thread
	}
	b, found, err := s.inForce(tx, req.At.Place(), now, &c)
	if err != nil || !found || b.Session != req.Session || b.Owner != req.Actor.User {
		return core.Binding{}, c, err
	}
	b, err = s.step(tx, b, Refocus{}, now, &c)
	return b, c, err
}

// Activate makes a pending binding active at the place that was opened, posts
// its intro, and sets its session where o has one. It is part of the second
// transaction, after the session was made. It refuses with thread_failed where
// the address is not a place of its own on the account that was asked, with
// already_focused where another binding holds it, and with target_unknown
// where the session is gone; the transaction must then be rolled back and the
// binding aborted.
func (s *Service) Activate(tx Tx, id string, o Opened, now core.Millis) (core.Binding, Changes, error) {
	var c Changes
	b, found, err := tx.BindingByID(id)
	switch {
	case err != nil:
		return b, c, err
	case !found || b.Status != core.BindingPending:
		return b, c, RefuseGivenUp()
	case !hasPlace(o.Address) || !sameAccount(o.Address, b.Address):
		return b, c, refuseDestination(o.Address)
	}
	if o.Session == 0 {
		o.Session, o.SessionKey = b.Session, b.SessionKey
	}
	live, key, err := tx.SessionLive(o.Session)
	switch {
	case err != nil:
		return b, c, err
	case !live:
		return b, c, refuseTarget(called(b))
	}
	o.SessionKey = key
	if other, taken, err := s.liveAt(tx, o.Address.Place()); err != nil {
		return b, c, err
	} else if taken && other.ID != b.ID {
		return b, c, refuseFocused(other)
	}
	b, err = s.step(tx, b, o, now, &c)
	return b, c, err
}

// Abort ends a pending binding as spawn-failed and reports whether it did. If
// not, the binding became active after all, or ended before, and what was
// opened for it must stay.
func (s *Service) Abort(tx Tx, id string, now core.Millis) (aborted bool, c Changes, err error) {
	b, found, err := tx.BindingByID(id)
	if err != nil || !found || b.Status != core.BindingPending {
		return false, c, err
	}
	_, err = s.step(tx, b, SpawnFailed{}, now, &c)
	return err == nil, c, err
}

// checkTarget refuses a session that is gone, and completes the key.
func (s *Service) checkTarget(tx Tx, req *Request) error {
	live, key, err := tx.SessionLive(req.Session)
	switch {
	case err != nil:
		return err
	case !live:
		return refuseTarget(called(s.record(*req, "")))
	}
	req.SessionKey = key
	return nil
}

// holder returns the live binding where req would bind in place: at the place
// it supplies, else where it was asked for.
func (s *Service) holder(tx Tx, req Request, now core.Millis, c *Changes) (core.Binding, bool, error) {
	at := req.At
	if req.Place != nil {
		at = *req.Place
	}
	if b, found, err := s.liveAt(tx, at.Place()); err != nil || found && b.Status == core.BindingPending {
		return b, found, err
	}
	return s.inForce(tx, at.Place(), now, c)
}

// place decides where req goes.
func (s *Service) place(req Request, set Settings, caps core.BindingCapabilities, occupied bool) (Decision, error) {
	if req.Place != nil {
		switch {
		case !hasPlace(*req.Place) || !sameAccount(*req.Place, req.At):
			return Decision{}, refuseDestination(*req.Place)
		case req.Automatic && !set.SpawnSessions:
			return Decision{}, refuseSpawn(set)
		}
		return Decision{Placement: core.PlacementChild}, nil
	}
	placement := set.Placement
	if req.Placement != "" {
		placement = req.Placement
	}
	return Place(PlaceQuery{
		Caps: caps, Kind: req.Kind, At: req.At, Placement: placement,
		Automatic: req.Automatic, Occupied: occupied, Settings: set,
	})
}

// capabilities asks the account's adapter what can be bound at an address.
func (s *Service) capabilities(at core.Address) core.BindingCapabilities {
	adapter := s.Adapter(at.Channel, at.Account)
	if adapter == nil {
		return core.BindingCapabilities{Reason: words.English().DetailNoBindings()}
	}
	return adapter.BindingCapabilities(at)
}

// record returns the pending record of a request.
func (s *Service) record(req Request, placement core.Placement) core.Binding {
	b := core.Binding{
		ID: req.ID, Address: req.At, Session: req.Session, SessionKey: req.SessionKey, Target: req.Target,
		Agent: req.Agent, Label: req.Label, Owner: req.Actor.User, Placement: placement,
		Deadline: req.Deadline, Status: core.BindingPending, RunID: req.RunID,
	}
	if b.ID == "" {
		b.ID = s.NewID()
	}
	switch {
	case req.Place != nil:
		b.Address = *req.Place
	case placement == core.PlacementChild: // at no place until its thread is open
		b.Address = core.Address{
			Channel: req.At.Channel, Account: req.At.Account, Parent: req.At.ParentConversation().Conversation,
		}
	}
	b.Idle, b.MaxAge = limitMillis(req.Idle), limitMillis(req.MaxAge)
	return b
}

// childRequest returns what to ask of the adapter.
func childRequest(req Request, b core.Binding, caps core.BindingCapabilities) *core.ChildRequest {
	intent := req.Intent
	if intent == "" {
		intent = b.ID
	}
	return &core.ChildRequest{Parent: req.At, Title: Title(called(b), caps.TitleLimit), Text: req.Text, Intent: intent}
}

// mayReplace refuses to end holder for req: a spawn never does, and a person
// only to what is their own, unless they are an operator.
func mayReplace(holder core.Binding, req Request) error {
	if req.Automatic || holder.Status == core.BindingPending ||
		!req.Actor.Operator && holder.Owner != req.Actor.User {
		return refuseFocused(holder)
	}
	return nil
}

// replace ends the binding that holds the place of b. Its owner keeps the
// limits they set there.
func (s *Service) replace(tx Tx, holder core.Binding, b *core.Binding, now core.Millis, c *Changes) error {
	if holder.Owner == b.Owner {
		keepLimits(b, holder)
	} else {
		c.Overrides = append(c.Overrides, Override{Binding: holder, Operator: b.Owner})
	}
	_, err := s.step(tx, holder, End{core.EndReplaced}, now, c)
	return err
}

// inherit gives b the limits that its owner set on the last binding of the
// same session at the same place.
func (s *Service) inherit(tx Tx, b *core.Binding) error {
	last, found, err := tx.LastEnded(b.Address.Place())
	if err == nil && found && last.Owner == b.Owner && last.Session == b.Session {
		keepLimits(b, last)
	}
	return err
}

// keepLimits takes over the limits that b does not set itself.
func keepLimits(b *core.Binding, from core.Binding) {
	if b.Idle == nil {
		b.Idle = from.Idle
	}
	if b.MaxAge == nil {
		b.MaxAge = from.MaxAge
	}
}

// checkQuota refuses an owner with too many live bindings. Nobody's bindings,
// of runs behind which there is no person, are not counted; nor is one that is
// about to be replaced.
func (s *Service) checkQuota(tx Tx, owner string, set Settings, replaces bool) error {
	if owner == "" || set.MaxPerUser <= 0 {
		return nil
	}
	n, err := tx.CountLiveBindings(owner)
	if err != nil {
		return err
	}
	if replaces {
		n--
	}
	if n >= set.MaxPerUser {
		return refuseQuota(n, set.MaxPerUser)
	}
	return nil
}

func limitMillis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := max(toMillis(*d), 0)
	return &ms
}
