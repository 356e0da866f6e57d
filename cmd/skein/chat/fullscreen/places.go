package fullscreen

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
)

// Place names a conversation, or with Thread one of its threads.
type Place struct {
	Conversation string `json:"c"`
	Thread       string `json:"t,omitempty"`
}

// State is what goes on in a place.
type State string

// The states of a place.
const (
	StateIdle    State = ""        // nothing, and nothing did
	StateQueued  State = "queued"  // input waits for a turn
	StateRunning State = "running" // a turn is in progress
	StateWaiting State = "waiting" // for sub-agents
	StateDone    State = "done"    // its task succeeded
	StateFailed  State = "failed"  // its task did not
	StateEnded   State = "ended"   // nobody listens there any more
)

// Work is what the runtime says of one place.
type Work struct {
	Place Place
	// Agent is the name of who answers there.
	Agent string
	State State
	// Bound tells that a binding leads there. Ends is when it ends if nothing
	// happens, 0 for never.
	Bound bool
	Ends  core.Millis
	// Detail says why a task did not succeed.
	Detail string
}

// message is one message of a place.
type message struct {
	console.Message
	// pending is set while it is on its way to the console.
	pending bool
	// notice is text of the screen itself.
	notice bool

	lines []string // as drawn
	drawn drawing  // what they were drawn for
}

// place is a conversation or a thread, with everything that the screen knows
// of it.
type place struct {
	at       Place
	thread   console.Thread // zero for a conversation
	title    string         // of a conversation
	messages []*message     // by Seq; pending ones last
	gone     bool           // deleted

	read    uint64 // Seq of the newest message that was seen
	unread  int
	mark    uint64 // Seq of the first message under the line "new", 0 for none
	visited bool
	loaded  bool // its history was asked for

	typing  bool
	work    Work
	since   time.Time // begin of what is in progress
	draft   string
	history []string // lines written here, the newest last
	scroll  int      // lines below the window; 0 follows the end
	version int      // grows when its lines change

	lines cachedLines
}

// busy tells that somebody is working on an answer.
func (p *place) busy() bool {
	return p.typing || p.work.State == StateRunning || p.work.State == StateQueued
}

// state is what is shown of the place.
func (p *place) state() State {
	switch {
	case p.gone || p.thread.Archived || p.thread.Locked:
		return StateEnded
	case p.typing:
		return StateRunning
	}
	return p.work.State
}

// label is the short name of a place: "main", "#1".
func (p *place) label() string {
	if p.at.Thread == "" {
		return p.name()
	}
	return p.thread.Label()
}

// name is the place as people see it.
func (p *place) name() string {
	if p.at.Thread == "" {
		return printable(cmp.Or(p.title, console.AgentOf(p.at.Conversation)))
	}
	return printable(strings.TrimSpace(p.thread.Label() + " " + p.thread.Title))
}

// newest is the Seq of the last message.
func (p *place) newest() uint64 {
	for _, m := range slices.Backward(p.messages) {
		if !m.pending && !m.notice {
			return m.Seq
		}
	}
	return 0
}

// see marks everything as read.
func (p *place) see() {
	p.read, p.unread = max(p.read, p.newest()), 0
}

// count counts again what was not read.
func (p *place) count(user string) {
	p.unread = 0
	for _, m := range slices.Backward(p.messages) {
		switch {
		case m.notice || m.pending:
		case m.Seq <= p.read:
			return
		case m.counts(user):
			p.unread++
		}
	}
}

// counts tells that a message is news: somebody else's, and still there.
func (m *message) counts(user string) bool {
	return !m.notice && !m.pending && !m.Deleted && m.By.ID != user
}

// put takes over a message that is new or changed; it reports whether the
// message is new.
func (p *place) put(m console.Message) bool {
	for i, known := range slices.Backward(p.messages) {
		switch {
		case known.ID == m.ID && !known.notice && !known.pending:
			if known.Changed < m.Changed {
				known.Message, known.drawn = m, drawing{}
				p.version++
			}
			return false
		case known.pending && m.Key != "" && known.Key == m.Key && known.By.ID == m.By.ID:
			p.messages = slices.Delete(p.messages, i, i+1)
			p.insert(&message{Message: m})
			return false
		}
	}
	p.insert(&message{Message: m})
	return true
}

// insert puts a message in its place: by Seq, pending ones last.
func (p *place) insert(m *message) {
	at := len(p.messages)
	for at > 0 && m.before(p.messages[at-1]) {
		at--
	}
	p.messages = slices.Insert(p.messages, at, m)
	p.version++
}

func (m *message) before(other *message) bool {
	if m.pending || m.notice {
		return false
	}
	return other.pending || m.Seq < other.Seq
}

// places are what the screen knows.
type places struct {
	user string
	// home is the account whose direct chats are shown.
	home     string
	list     map[Place]*place
	here     *place
	left     uint64 // news begin after it, in places that were never read
	answered *place // where somebody answered last, while the person was elsewhere
}

func newPlaces(user, start string) *places {
	s := &places{user: user, home: console.DefaultAccount, list: make(map[Place]*place)}
	s.here = s.at(Place{Conversation: start})
	s.here.visited = true
	return s
}

// at returns a place, new if need be.
func (s *places) at(at Place) *place {
	p := s.list[at]
	if p == nil {
		p = &place{at: at, read: s.left, thread: console.Thread{ID: at.Thread, Conversation: at.Conversation}}
		s.list[at] = p
	}
	return p
}

// conversations takes over the direct chats of the person.
func (s *places) conversations(list []console.Conversation) {
	for _, c := range list {
		if c.Kind == core.Direct && c.Peer == s.user && slices.Contains(c.Accounts, s.home) {
			s.at(Place{Conversation: c.ID}).title = c.Title
		}
	}
}

// shown tells that a conversation is one of the person's.
func (s *places) shown(conversation string) bool {
	return s.list[Place{Conversation: conversation}] != nil
}

// apply takes over a feed. history counts nothing as new but what memory says.
// It returns the places that got news from others.
func (s *places) apply(f console.Feed, now time.Time) (news []*place) {
	for _, t := range f.Threads {
		s.know(t)
	}
	for _, m := range f.Messages {
		if !s.shown(m.Conversation) {
			continue
		}
		p := s.at(Place{m.Conversation, m.Thread})
		if p.put(m) && p.news(m.Seq, s.user) {
			p.unread++
			if !slices.Contains(news, p) {
				news = append(news, p)
			}
		}
	}
	s.typing(f.Typing, now)
	return news
}

// news tells that the message of a Seq, which is new, is unread.
func (p *place) news(seq uint64, user string) bool {
	if seq <= p.read {
		return false
	}
	for _, m := range slices.Backward(p.messages) {
		if m.Seq == seq && !m.notice {
			return m.counts(user)
		}
	}
	return false
}

// answered tells that the newest message is an answer, not what the runtime
// says when a sub-agent comes or goes.
func (p *place) answered() bool {
	for _, m := range slices.Backward(p.messages) {
		if !m.notice && !m.pending {
			return p.at.Thread == "" || m.Persona != ""
		}
	}
	return false
}

// know takes over a thread.
func (s *places) know(t console.Thread) {
	if !s.shown(t.Conversation) {
		return
	}
	at := Place{t.Conversation, t.ID}
	if t.Deleted && s.list[at] == nil {
		return
	}
	p := s.at(at)
	p.thread, p.gone = t, t.Deleted
	if t.Deleted && s.here != p {
		delete(s.list, at)
	}
}

// typing takes over who is writing now.
func (s *places) typing(now []console.Typing, at time.Time) {
	writing := make(map[Place]bool)
	for _, t := range now {
		writing[Place{t.Conversation, t.Thread}] = true
	}
	for _, p := range s.list {
		was := p.busy()
		p.typing = writing[p.at]
		p.since = began(p, was, at)
	}
}

// working takes over what the runtime says.
func (s *places) working(list []Work, at time.Time) {
	said := make(map[Place]Work)
	for _, w := range list {
		said[w.Place] = w
	}
	for _, p := range s.list {
		was := p.busy()
		w, ok := said[p.at]
		if !ok && p.work.Bound { // its binding is gone
			w = Work{Place: p.at, Agent: p.work.Agent, State: StateEnded}
		} else if !ok {
			w = Work{Place: p.at, Agent: p.work.Agent, State: p.work.State}
			if w.State != StateEnded {
				w.State = StateIdle
			}
		}
		p.work = w
		p.since = began(p, was, at)
	}
}

// began is when what is in progress began.
func began(p *place, was bool, now time.Time) time.Time {
	switch {
	case !p.busy():
		return time.Time{}
	case was && !p.since.IsZero():
		return p.since
	}
	return now
}

// ordered returns the conversations by name, the first one first, each
// followed by its threads in order of their numbers.
func (s *places) ordered() []*place {
	list := make([]*place, 0, len(s.list))
	for _, p := range s.list {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *place) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.at.Conversation, b.at.Conversation),
			cmp.Compare(len(a.at.Thread), len(b.at.Thread)), cmp.Compare(a.at.Thread, b.at.Thread),
		)
	})
	return list
}

// rank puts the main conversation first.
func rank(p *place) int {
	if p.at.Conversation == console.Main {
		return 0
	}
	return 1
}

// enter goes to a place. What is new there gets a line before it.
func (s *places) enter(p *place) {
	if s.here == p {
		return
	}
	if s.here.gone {
		delete(s.list, s.here.at)
	}
	s.here.mark = 0
	s.here.version++
	s.here = p
	p.visited = true
	p.mark = 0
	for _, m := range p.messages {
		if m.counts(s.user) && m.Seq > p.read {
			p.mark = m.Seq
			break
		}
	}
	p.version++
	p.scroll = 0
	p.see()
	if s.answered == p {
		s.answered = nil
	}
}

// step returns the place n further in the list, round the ends.
func (s *places) step(n int) *place {
	list := s.ordered()
	at := slices.Index(list, s.here)
	return list[((at+n)%len(list)+len(list))%len(list)]
}

// next returns the next place with news, else the next one.
func (s *places) next() *place {
	list := s.ordered()
	at := slices.Index(list, s.here)
	for i := 1; i < len(list); i++ {
		if p := list[(at+i)%len(list)]; p.unread > 0 {
			return p
		}
	}
	return s.step(1)
}

// find returns the place that somebody names: "main", "1", "#1", "t1", or the
// title of a thread or conversation; nil if there is none. Threads of the
// present conversation come first.
func (s *places) find(to string) *place {
	to = strings.TrimSpace(to)
	if to == "" || strings.EqualFold(to, console.Main) {
		return s.list[Place{Conversation: s.mainOf()}]
	}
	number := strings.TrimPrefix(strings.TrimPrefix(to, "#"), "t")
	if p := s.list[Place{s.here.at.Conversation, "t" + number}]; p != nil {
		return p
	}
	for _, p := range s.ordered() {
		if p.at.Thread == "t"+number || strings.EqualFold(p.thread.Title, to) && to != "" || strings.EqualFold(p.name(), to) {
			return p
		}
	}
	return nil
}

// mainOf is the conversation that "main" means: the present one, and from there
// the main one.
func (s *places) mainOf() string {
	if s.here.at.Thread == "" && s.shown(console.Main) {
		return console.Main
	}
	return s.here.at.Conversation
}

// busyCount counts places where work goes on.
func (s *places) busyCount() (n int) {
	for _, p := range s.list {
		if p.busy() || p.work.State == StateWaiting {
			n++
		}
	}
	return n
}

// unread counts what is new elsewhere.
func (s *places) unread() (n int) {
	for _, p := range s.list {
		n += p.unread
	}
	return n
}
