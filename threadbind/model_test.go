package threadbind

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

// model is what bindings do, said in another way than Apply says it: it ends
// bindings at the millisecond of their deadline, where the service only looks
// when it is asked. Both must always agree on where a message goes.
type model struct {
	f      *fixture
	places []core.Address
	bound  map[string]*modelBinding // by id
	last   map[string]core.Millis   // activity seen, by id
}

type modelBinding struct {
	at       core.Address
	session  int64
	owner    string
	start    core.Millis
	activity []core.Millis // its start included
	idle     *time.Duration
	maxAge   *time.Duration
	locked   bool
	banned   bool
	over     core.EndReason
}

func newModel(f *fixture, t *rapid.T) *model {
	m := &model{f: f, bound: map[string]*modelBinding{}, last: map[string]core.Millis{}}
	m.f.set.MaxPerUser = 0
	m.places = []core.Address{
		team, team.InThread("T1"), team.InThread("T2"),
		{Channel: "fake", Account: "default", Conversation: "T3", Parent: "Team"},
	}
	if rapid.Bool().Draw(t, "index") {
		m.f.service.Index = NewIndex(0)
	}
	m.drawLimits(t)
	return m
}

// limit draws a limit in minutes, often off and often equal to another.
func limit(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 1, 2, 2, 5, 30}).Draw(t, name)) * time.Minute
}

func (m *model) drawLimits(t *rapid.T) {
	m.f.set.Idle, m.f.set.MaxAge = limit(t, "idle"), limit(t, "max-age")
}

func (m *model) at(t *rapid.T) core.Address { return rapid.SampledFrom(m.places).Draw(t, "place") }

// holder returns the binding that lives at a place by the model.
func (m *model) holder(at core.Address) (string, *modelBinding) {
	for id, b := range m.bound {
		if b.over == core.NotEnded && b.at.Same(at) {
			return id, b
		}
	}
	return "", nil
}

// expire ends whatever has a deadline by now.
func (m *model) expire() {
	for _, b := range m.bound {
		if reason, dead := m.expired(b, m.f.now); dead {
			b.over = reason
		}
	}
}

func (m *model) expired(b *modelBinding, now core.Millis) (core.EndReason, bool) {
	if b.over != core.NotEnded {
		return core.NotEnded, false
	}
	idle, maxAge := m.f.set.Idle, m.f.set.MaxAge
	if b.idle != nil {
		idle = *b.idle
	}
	if b.maxAge != nil {
		maxAge = *b.maxAge
	}
	work := m.f.store.sessions[b.session]
	quietSince := max(slices.Max(b.activity), work.since)
	idleLeft, ageLeft := idle-now.Sub(quietSince), maxAge-now.Sub(b.start)
	idles, ages := idle > 0 && !work.busy && idleLeft <= 0, maxAge > 0 && ageLeft <= 0
	switch {
	case idles && (!ages || idleLeft <= ageLeft):
		return core.EndIdle, true
	case ages:
		return core.EndMaxAge, true
	}
	return core.NotEnded, false
}

// touch is a message or a reply at a place, or at the place around it.
func (m *model) touch(at core.Address) (want string) {
	for _, place := range []core.Address{at, at.ParentConversation()} {
		if id, b := m.holder(place); b != nil {
			b.activity = append(b.activity, m.f.now)
			return id
		}
	}
	return ""
}

func (m *model) wait(t *rapid.T) {
	m.f.now += core.Millis(rapid.OneOf(rapid.Int64Range(0, 200_000), rapid.SampledFrom([]int64{1, 59_999, 60_000, 120_000})).Draw(t, "ms"))
	m.expire()
}

func (m *model) message(t *rapid.T) {
	at := m.at(t)
	m.f.tx(func(tx Tx) (Changes, error) {
		peek, err := m.f.service.Peek(tx, at, m.f.now)
		id := m.touch(at)
		require.Equal(t, id, peek.Binding.ID)
		return Changes{}, err
	})
	r := m.f.resolve(at)
	want := m.touch(at)
	require.Equal(t, want, r.Binding.ID, "message at %s", at)
	if want != "" {
		require.Equal(t, m.bound[want].locked || m.bound[want].banned, r.Held())
		require.Equal(t, !m.bound[want].at.Same(at), r.Inherited)
	}
}

func (m *model) reply(t *rapid.T) {
	at := m.at(t)
	m.f.tx(func(tx Tx) (Changes, error) { return m.f.service.Replied(tx, at, m.f.now) })
	m.touch(at)
}

func (m *model) focus(t *rapid.T) {
	req := m.f.request()
	req.At, req.Placement = m.at(t), core.PlacementCurrent
	req.Session = rapid.SampledFrom([]int64{sessionCats, sessionDogs}).Draw(t, "session")
	req.Actor = rapid.SampledFrom([]Actor{alice, bob, boss, {}}).Draw(t, "who")
	m.f.store.failing(rapid.IntRange(-20, 20).Draw(t, "store fails at call"))
	defer m.f.store.failing(0)
	_, holder := m.holder(req.At)
	var plan Plan
	_, err := m.f.try(func(tx Tx) (c Changes, err error) {
		plan, c, err = m.f.service.Focus(tx, req, m.f.now)
		return c, err
	})
	switch {
	case req.Actor.User == "":
		require.Equal(t, CodeNotOwner, core.ErrorCode(err))
	case m.f.store.failAt > 0 && m.f.store.calls >= m.f.store.failAt:
		require.ErrorIs(t, err, errDown)
	case holder != nil && holder.owner != req.Actor.User && !req.Actor.Operator:
		require.Equal(t, CodeAlreadyFocused, core.ErrorCode(err))
	default:
		require.NoError(t, err)
		m.focused(t, req, plan.Binding, holder)
	}
}

// focused brings the model up to date with a focus that succeeded.
func (m *model) focused(t *rapid.T, req Request, b core.Binding, holder *modelBinding) {
	fresh := &modelBinding{at: req.At, session: req.Session, owner: req.Actor.User, start: m.f.now, activity: []core.Millis{m.f.now}}
	if holder != nil && holder.owner == fresh.owner {
		fresh.idle, fresh.maxAge = holder.idle, holder.maxAge
		if holder.session == fresh.session {
			require.Same(t, holder, m.bound[b.ID], "the same record goes on")
			holder.start, holder.activity = m.f.now, append(holder.activity, m.f.now)
			return
		}
	}
	if holder != nil {
		holder.over = core.EndReplaced
	} else {
		fresh.idle, fresh.maxAge = m.inherited(req)
	}
	m.bound[b.ID] = fresh
}

// inherited returns the own limits that the last binding of the same owner and
// session at the place had. It asks the model alone: the store may be failing.
func (m *model) inherited(req Request) (idle, maxAge *time.Duration) {
	last := ""
	for id, b := range m.bound {
		if b.over != core.NotEnded && b.at.Same(req.At) {
			last = max(last, id) // ids rise
		}
	}
	if b := m.bound[last]; b != nil && b.owner == req.Actor.User && b.session == req.Session {
		return b.idle, b.maxAge
	}
	return nil, nil
}

func (m *model) edit(t *rapid.T) {
	at, actor := m.at(t), rapid.SampledFrom([]Actor{alice, bob, boss}).Draw(t, "who")
	var own *time.Duration
	if rapid.Bool().Draw(t, "own") {
		d := limit(t, "limit")
		own = &d
	}
	age := rapid.Bool().Draw(t, "max-age")
	_, b := m.holder(at)
	_, err := m.f.try(func(tx Tx) (c Changes, err error) {
		if age {
			_, c, err = m.f.service.SetMaxAge(tx, at, actor, own, m.f.now)
		} else {
			_, c, err = m.f.service.SetIdle(tx, at, actor, own, m.f.now)
		}
		return c, err
	})
	switch {
	case b == nil:
		require.Equal(t, CodeNotFocused, core.ErrorCode(err))
	case b.owner != actor.User && !actor.Operator:
		require.Equal(t, CodeNotOwner, core.ErrorCode(err))
	default:
		require.NoError(t, err)
		b.activity = append(b.activity, m.f.now)
		if age {
			b.maxAge = own
		} else {
			b.idle = own
		}
		m.expire()
	}
}

func (m *model) unfocus(t *rapid.T) {
	at := m.at(t)
	_, b := m.holder(at)
	_, err := m.f.unfocus(at, boss)
	if b == nil {
		require.Equal(t, CodeNotFocused, core.ErrorCode(err))
		return
	}
	require.NoError(t, err)
	b.over = core.EndManual
}

// work starts or ends the work of a session. The timers have fired before.
func (m *model) work(t *rapid.T) {
	m.f.sweep()
	session := rapid.SampledFrom([]int64{sessionCats, sessionDogs}).Draw(t, "session")
	s := m.f.store.sessions[session]
	if s.busy = !s.busy; !s.busy {
		s.since = m.f.now
	}
	m.f.store.sessions[session] = s
}

func (m *model) reload(t *rapid.T) {
	m.f.sweep()
	m.drawLimits(t)
	m.expire()
	for after := ""; ; {
		m.f.tx(func(tx Tx) (c Changes, err error) {
			after, c, err = m.f.service.Reload(tx, after, 3, m.f.now)
			return c, err
		})
		if after == "" {
			return
		}
	}
}

func (m *model) sweep(*rapid.T) {
	m.f.sweep()
	for id, b := range m.bound {
		require.Equal(m.f.t, b.over, m.f.binding(id).Reason, "after a sweep nothing that is over lives")
	}
}

func (m *model) restart(*rapid.T) { m.f.restart() }

func (m *model) placeEvent(t *rapid.T) {
	at := m.at(t)
	event := rapid.SampledFrom([]core.PlaceEvent{
		core.PlaceLocked, core.PlaceUnlocked, core.PlacePermissionLost, core.PlacePermissionRestored, core.PlaceArchived,
	}).Draw(t, "event")
	m.f.sweep()
	m.f.placeChanged(event, at, core.Address{})
	for _, b := range m.bound {
		whole := at.Thread == "" && (b.at.Conversation == at.Conversation || b.at.Parent == at.Conversation)
		if b.over != core.NotEnded || !whole && !b.at.Same(at) {
			continue
		}
		switch event {
		case core.PlaceLocked, core.PlaceUnlocked:
			b.locked = event == core.PlaceLocked
		case core.PlacePermissionLost, core.PlacePermissionRestored:
			b.banned = event == core.PlacePermissionLost
		}
	}
}

// check holds after every action.
func (m *model) check(t *rapid.T) {
	taken := map[core.Place]bool{}
	for id, b := range m.f.store.bindings {
		require.GreaterOrEqual(t, b.LastActivity, m.last[id], "activity never moves backwards")
		m.last[id] = b.LastActivity
		mb := m.bound[id]
		if b.Status == core.BindingEnded {
			require.Equal(t, mb.over, b.Reason)
			require.Zero(t, b.Due)
			continue
		}
		require.False(t, taken[b.Address.Place()], "one binding a place")
		taken[b.Address.Place()] = true
		require.Equal(t, mb.locked || mb.banned, b.Status == core.BindingSuspended)
		if m.f.store.sessions[mb.session].busy {
			continue
		}
		before := b.Due - 1
		if b.Due == 0 {
			before = t0.Add(hours(1e6))
		}
		_, dead := m.expired(mb, before)
		require.False(t, dead, "nothing expires before its lower bound")
	}
	farewells := map[string]int{}
	for _, p := range m.f.store.posts {
		farewells[p.key]++
		if strings.HasPrefix(p.key, "farewell/") {
			require.Equal(t, 1, farewells[p.key])
		}
	}
}

// TestModel runs random interleavings of everything that happens to bindings,
// restarts and failed transactions included, against the model.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(newFixture(t), rt)
		rt.Repeat(map[string]func(*rapid.T){
			"wait": m.wait, "message": m.message, "reply": m.reply, "focus": m.focus, "edit": m.edit, "unfocus": m.unfocus,
			"work": m.work, "reload": m.reload, "sweep": m.sweep, "restart": m.restart, "place event": m.placeEvent, "": m.check,
		})
	})
}
