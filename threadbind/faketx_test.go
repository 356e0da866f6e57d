package threadbind

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// fakeStore is a store in memory: its tx method is one transaction.
type fakeStore struct {
	bindings map[string]core.Binding
	sessions map[int64]fakeSession
	posts    []fakePost
	timers   map[fakeTimer]core.Millis
	failAt   int // the call, counted from 1, that returns errDown; 0 for none
	calls    int
	probes   int // calls of BindingAt
	asked    int // calls of SessionBusy
}

type fakeSession struct {
	key   string
	live  bool
	busy  bool
	since core.Millis
}

type fakePost struct {
	to        core.Address
	key, text string
}

type fakeTimer struct{ kind, ref string }

var errTaken = errors.New("unique: another live binding is at this place")

var _ Tx = (*fakeStore)(nil)

func newFakeStore() *fakeStore {
	return &fakeStore{
		bindings: make(map[string]core.Binding),
		sessions: make(map[int64]fakeSession),
		timers:   make(map[fakeTimer]core.Millis),
	}
}

// tx runs f and undoes it unless f returns nil or a refusal.
func (s *fakeStore) tx(f func(tx Tx) error) error {
	bindings, posts, timers := maps.Clone(s.bindings), slices.Clone(s.posts), maps.Clone(s.timers)
	err := f(s)
	if err != nil && core.ErrorCode(err) == "" {
		s.bindings, s.posts, s.timers = bindings, posts, timers
	}
	return err
}

// call counts a call of Tx and fails the one that is to fail.
func (s *fakeStore) call() error {
	s.calls++
	if s.calls == s.failAt {
		return errDown
	}
	return nil
}

// failing makes the nth call from now on fail; 0 for none.
func (s *fakeStore) failing(n int) { s.calls, s.failAt = 0, n }

// live returns the live bindings that keep accepts, by id.
func (s *fakeStore) live(keep func(b core.Binding) bool) []core.Binding {
	var out []core.Binding
	for _, id := range slices.Sorted(maps.Keys(s.bindings)) {
		if b := s.bindings[id]; b.Status.Live() && keep(b) {
			out = append(out, b)
		}
	}
	return out
}

func first(all []core.Binding, err error) (core.Binding, bool, error) {
	if len(all) == 0 || err != nil {
		return core.Binding{}, false, err
	}
	return all[0], true, nil
}

func upTo(all []core.Binding, limit int, err error) ([]core.Binding, error) {
	if err != nil {
		return nil, err
	}
	return all[:min(limit, len(all))], nil
}

func (s *fakeStore) BindingAt(place core.Place) (core.Binding, bool, error) {
	s.probes++
	return first(s.live(func(b core.Binding) bool { return b.Address.Place() == place }), s.call())
}

func (s *fakeStore) LastEnded(place core.Place) (core.Binding, bool, error) {
	var all []core.Binding
	for _, b := range s.bindings {
		if b.Status == core.BindingEnded && b.Address.Place() == place {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b core.Binding) int {
		return -cmp.Or(cmp.Compare(a.EndedAt, b.EndedAt), strings.Compare(a.ID, b.ID))
	})
	return first(all, s.call())
}

func (s *fakeStore) BindingByID(id string) (core.Binding, bool, error) {
	b, ok := s.bindings[id]
	return b, ok, s.call()
}

func (s *fakeStore) BindingsOfSession(session int64) ([]core.Binding, error) {
	return s.live(func(b core.Binding) bool { return b.Session == session }), s.call()
}

func (s *fakeStore) BindingsUnder(channel, account, conversation string) ([]core.Binding, error) {
	return s.live(func(b core.Binding) bool {
		a := b.Address
		return a.Channel == channel && a.Account == account && (a.Conversation == conversation || a.Parent == conversation)
	}), s.call()
}

func (s *fakeStore) BindingsOfAccount(channel, account string, limit int) ([]core.Binding, error) {
	return upTo(s.live(func(b core.Binding) bool { return b.Address.Channel == channel && b.Address.Account == account }), limit, s.call())
}

func (s *fakeStore) BindingsDue(now core.Millis, limit int) ([]core.Binding, error) {
	due := s.live(func(b core.Binding) bool { return b.Due != 0 && b.Due <= now })
	slices.SortStableFunc(due, func(a, b core.Binding) int { return cmp.Compare(a.Due, b.Due) })
	return upTo(due, limit, s.call())
}

func (s *fakeStore) LiveBindings(after string, limit int) ([]core.Binding, error) {
	return upTo(s.live(func(b core.Binding) bool { return b.ID > after }), limit, s.call())
}

func (s *fakeStore) CountLiveBindings(owner string) (int, error) {
	return len(s.live(func(b core.Binding) bool { return b.Owner == owner })), s.call()
}

func (s *fakeStore) InsertBinding(b core.Binding) error {
	if _, ok := s.bindings[b.ID]; ok {
		return errors.New("unique: binding id")
	}
	return s.write(b)
}

func (s *fakeStore) UpdateBinding(b core.Binding) error {
	if _, ok := s.bindings[b.ID]; !ok {
		return errors.New("no such binding")
	}
	return s.write(b)
}

func (s *fakeStore) write(b core.Binding) error {
	taken := s.live(func(o core.Binding) bool {
		return o.ID != b.ID && o.Address.Conversation != "" && o.Address.Same(b.Address)
	})
	if b.Status.Live() && len(taken) > 0 {
		return errTaken
	}
	s.bindings[b.ID] = b
	return s.call()
}

func (s *fakeStore) DeleteBinding(id string) error {
	delete(s.bindings, id)
	return s.call()
}

func (s *fakeStore) SessionBusy(session int64) (bool, core.Millis, error) {
	s.asked++
	return s.sessions[session].busy, s.sessions[session].since, s.call()
}

func (s *fakeStore) SessionLive(session int64) (bool, string, error) {
	return s.sessions[session].live, s.sessions[session].key, s.call()
}

func (s *fakeStore) Post(to core.Address, key, text string) error {
	if !slices.ContainsFunc(s.posts, func(p fakePost) bool { return p.key == key }) {
		s.posts = append(s.posts, fakePost{to, key, text})
	}
	return s.call()
}

func (s *fakeStore) SetTimer(kind, ref string, due core.Millis) error {
	if due == 0 {
		delete(s.timers, fakeTimer{kind, ref})
	} else {
		s.timers[fakeTimer{kind, ref}] = due
	}
	return s.call()
}
