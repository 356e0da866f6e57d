package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
)

// Line is one thing to show, in the order in which it happened.
type Line struct {
	// Place is where it happened, as people see it: "main", "#1 cats".
	Place string
	// Here tells that this is the place that is written to.
	Here bool
	// From is who wrote; "" is a notice of the screen itself.
	From string
	// Mine tells that the person of this screen wrote it.
	Mine bool
	// Text may have several lines.
	Text string
}

// Screen knows what a person sees of one conversation. The zero value is not
// usable; make one with NewScreen. It is not safe for concurrent use.
type Screen struct {
	user, conversation string
	main               *place
	threads            map[string]*place
	here               *place
	shown              map[string]uint64 // message id: the change that was shown
	echoed             map[string]bool   // keys of posts that are on the screen already
	quiet              bool              // what comes is history: nothing is unread
}

// place is the conversation itself or one of its threads.
type place struct {
	thread  console.Thread // its ID is "" for the conversation
	title   string         // of the conversation
	told    bool           // the thread itself is known, not only messages in it
	unread  int
	visited bool
	typing  []string
}

// name is the place as people see it.
func (p *place) name() string {
	if p.thread.ID == "" {
		return p.label()
	}
	return strings.TrimSpace(p.thread.Label() + " " + p.thread.Title)
}

// NewScreen returns the screen of a person in a conversation. It begins in the
// conversation itself, knowing nothing.
func NewScreen(user, conversation string) *Screen {
	s := &Screen{
		user: user, conversation: conversation, main: &place{visited: true, title: console.AgentOf(conversation)}, threads: make(map[string]*place),
		shown: make(map[string]uint64), echoed: make(map[string]bool),
	}
	s.here = s.main
	return s
}

// Here returns the thread that is written to, "" for the conversation itself.
func (s *Screen) Here() string { return s.here.thread.ID }

// HereName returns the place that is written to, as people see it.
func (s *Screen) HereName() string { return s.here.name() }

// Echoed notes that a post with this key is on the screen already, because it
// was typed there.
func (s *Screen) Echoed(key string) { s.echoed[key] = true }

// Know takes over threads without saying that they are new.
func (s *Screen) Know(threads []console.Thread) {
	for _, t := range threads {
		if t.Conversation == s.conversation {
			s.threads[t.ID] = &place{thread: t, told: true}
		}
	}
}

// History takes over a feed of what was written before: nothing in it counts
// as unread.
func (s *Screen) History(f console.Feed) []Line {
	s.quiet = true
	defer func() { s.quiet = false }()
	return s.Apply(f)
}

// Apply takes over a feed and returns what is new, without what was shown
// before.
func (s *Screen) Apply(f console.Feed) []Line {
	var lines []Line
	threads := f.Threads
	for _, m := range f.Messages { // both are in the order of their changes
		for len(threads) > 0 && threads[0].Changed <= m.Changed {
			lines = append(lines, s.thread(threads[0])...)
			threads = threads[1:]
		}
		lines = append(lines, s.message(m)...)
	}
	for _, t := range threads {
		lines = append(lines, s.thread(t)...)
	}
	s.typing(f.Typing)
	return lines
}

// thread takes over a thread that changed.
func (s *Screen) thread(t console.Thread) []Line {
	if t.Conversation != s.conversation {
		return nil
	}
	known := s.threads[t.ID]
	switch {
	case t.Deleted:
		delete(s.threads, t.ID)
		if known == nil {
			return nil
		}
		if s.here == known {
			s.here = s.main
		}
		return []Line{s.notice(known, "the thread is gone")}
	case known == nil || !known.told:
		p := s.at(t.ID)
		p.thread, p.told = t, true
		return []Line{s.notice(p, "a new thread: /thread "+strings.TrimPrefix(t.Label(), "#")+" goes there")}
	}
	was := known.thread
	known.thread = t
	switch {
	case was.Title != t.Title:
		return []Line{s.notice(known, "the thread was called "+was.Title)}
	case was.Locked != t.Locked:
		return []Line{s.notice(known, choose(t.Locked, "the thread is locked", "the thread is open again"))}
	case was.Archived != t.Archived:
		return []Line{s.notice(known, choose(t.Archived, "the thread is archived; writing there opens it again", "the thread is open again"))}
	}
	return nil
}

func choose(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func (s *Screen) notice(p *place, text string) Line {
	return Line{Place: p.name(), Here: p == s.here, Text: text}
}

// message takes over a message that is new or changed.
func (s *Screen) message(m console.Message) []Line {
	if m.Conversation != s.conversation {
		return nil
	}
	before, seen := s.shown[m.ID]
	if seen && before >= m.Changed || m.Draft && !m.Deleted { // a draft is shown once it is whole
		return nil
	}
	s.shown[m.ID] = m.Changed
	p := s.at(m.Thread)
	line := Line{Place: p.name(), Here: p == s.here, From: Author(s.user, m), Mine: m.By.ID == s.user, Text: m.Text}
	for _, f := range m.Files {
		line.Text = strings.TrimSpace(line.Text + "\n[file " + f.Name + "]")
	}
	for _, b := range m.Buttons {
		line.Text = strings.TrimSpace(line.Text + "\n[" + b + "]")
	}
	switch {
	case m.Deleted && !seen, m.Key != "" && line.Mine && s.echoed[m.Key] && !seen:
		return nil
	case m.Deleted:
		line.Text = "(deleted)"
	case seen && m.EditedAt == 0: // a reaction: the text was shown
		return nil
	case seen:
		line.Text = "(edited) " + line.Text
	case !line.Mine && !s.quiet && p != s.here:
		p.unread++
	}
	return []Line{line}
}

// at returns the place of a thread; one that nobody told of is a thread
// without a title.
func (s *Screen) at(thread string) *place {
	if thread == "" {
		return s.main
	}
	if s.threads[thread] == nil {
		s.threads[thread] = &place{thread: console.Thread{ID: thread, Conversation: s.conversation}}
	}
	return s.threads[thread]
}

// Author is how the writer of a message is called on the screen of user.
func Author(user string, m console.Message) string {
	switch {
	case m.By.ID == user:
		return "you"
	case m.Persona != "":
		return m.Persona
	case m.By.ID == console.BotID(console.DefaultAccount):
		return "skein"
	case m.By.Name != "":
		return m.By.Name
	}
	return m.By.ID
}

func (s *Screen) typing(now []console.Typing) {
	for _, p := range s.places() {
		p.typing = nil
	}
	for _, t := range now {
		if t.Conversation == s.conversation {
			p := s.at(t.Thread)
			p.typing = append(p.typing, t.Account)
		}
	}
}

// places returns the conversation, then its threads in order of their numbers.
func (s *Screen) places() []*place {
	list := []*place{s.main}
	for _, p := range s.threads {
		list = append(list, p)
	}
	slices.SortFunc(list[1:], func(a, b *place) int {
		x, y := a.thread.ID, b.thread.ID
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
	return list
}

// Unread is a place with messages that came while the person was elsewhere.
type Unread struct {
	Label string // "main" or "#1"
	Count int
}

// Unread returns the places with unread messages, in order.
func (s *Screen) Unread() []Unread {
	var list []Unread
	for _, p := range s.places() {
		if p.unread > 0 {
			list = append(list, Unread{p.label(), p.unread})
		}
	}
	return list
}

// Typing returns the labels of the places where somebody is writing, in order.
func (s *Screen) Typing() []string {
	var list []string
	for _, p := range s.places() {
		if len(p.typing) > 0 {
			list = append(list, p.label())
		}
	}
	return list
}

func (p *place) label() string {
	if p.thread.ID == "" {
		return p.title
	}
	return p.thread.Label()
}

// Go makes another place the one that is written to: "main", "1", "#1", "t1",
// or a thread's title. It returns whether its history was never shown, and an
// error that says which places there are.
func (s *Screen) Go(to string) (fresh bool, err error) {
	p := s.find(strings.TrimSpace(to))
	if p == nil {
		return false, core.Errorf("chat_no_thread", "there is no thread %q", to).WithRemedy("%s", s.where())
	}
	return s.enter(p), nil
}

// Next goes to the next place that has unread messages, else to the next one,
// and returns whether its history was never shown.
func (s *Screen) Next() (fresh bool) {
	list := s.places()
	at := slices.Index(list, s.here)
	order := append(slices.Clone(list[at+1:]), list[:at]...)
	for _, p := range order {
		if p.unread > 0 {
			return s.enter(p)
		}
	}
	if len(order) == 0 {
		return false
	}
	return s.enter(order[0])
}

func (s *Screen) enter(p *place) (fresh bool) {
	fresh = !p.visited
	s.here, p.unread, p.visited = p, 0, true
	return fresh
}

func (s *Screen) find(to string) *place {
	if to == "" || strings.EqualFold(to, console.Main) {
		return s.main
	}
	number := strings.TrimPrefix(strings.TrimPrefix(to, "#"), "t")
	if p := s.threads["t"+number]; p != nil {
		return p
	}
	for _, p := range s.places()[1:] {
		if strings.EqualFold(p.thread.Title, to) {
			return p
		}
	}
	return nil
}

// where says which places there are.
func (s *Screen) where() string {
	if len(s.threads) == 0 {
		return "there are no threads yet"
	}
	var names []string
	for _, p := range s.places()[1:] {
		names = append(names, p.name())
	}
	return "threads: " + strings.Join(names, ", ")
}

// List describes every place in a line, the present one marked.
func (s *Screen) List() []Line {
	var lines []Line
	for _, p := range s.places() {
		var notes []string
		if p == s.here {
			notes = append(notes, "you are here")
		}
		if p.unread > 0 {
			notes = append(notes, plural(p.unread, "new message"))
		}
		if p.thread.Archived {
			notes = append(notes, "archived")
		}
		if p.thread.Locked {
			notes = append(notes, "locked")
		}
		lines = append(lines, Line{Place: p.name(), Here: p == s.here, Text: strings.Join(notes, ", ")})
	}
	return lines
}
