package script

import (
	"time"
)

// Statement is what a line says: one of the types of this package that have
// such a comment.
type Statement interface{ statement() }

// placed is a statement about one place.
type placed interface{ place() Place }

// acted is a statement about what somebody does.
type acted interface{ actor() User }

// User is who acts. The marks hold for the whole script, wherever they are.
type User struct {
	Name  string
	Owner bool // alice(owner)
	Bot   bool // helper(bot)
}

// Target names a message: that user's newest one, or the bot's.
type Target string

// The targets.
const (
	Last Target = "LAST"
	Bot  Target = "BOT"
)

// At is the place of a statement.
type At struct{ Place Place }

func (a At) place() Place { return a.Place }

// By is who does a statement.
type By struct{ User User }

func (b By) actor() User { return b.User }

// What people do.
type (
	// Say is `alice @ place: text`, and `alice replies to LAST @ place: text`.
	Say struct {
		By
		At
		Text string // \n is a line break already
		// Command is set for `!name args`; Text is then "name args".
		Command bool
		ReplyTo Target // "" if it answers nothing
	}
	// Edit is `alice edits LAST: text`. Place is zero unless the line has one.
	Edit struct {
		By
		At
		Target Target
		Text   string
	}
	// Delete is `alice deletes LAST`. Place is zero unless the line has one.
	Delete struct {
		By
		At
		Target Target
	}
	// React is `alice reacts LAST 👍`. Place is zero unless the line has one.
	React struct {
		By
		At
		Target Target
		Emoji  string
	}
	// Press is `alice presses [Label] @ place`.
	Press struct {
		By
		At
		Label string
	}
	// SendFile is `alice sends file NAME @ place`, with `: text` if need be.
	SendFile struct {
		By
		At
		File, Text string
	}
	// OpenTopic is `alice opens topic "name" @ place => T`.
	OpenTopic struct {
		By
		At
		Title string
		As    string // "" if it is not captured
	}
)

// What is expected of a place.
type (
	// Next is `place < /regex/`; with Place.Each a thread's next message.
	Next struct {
		At
		Pattern Pattern
		As      string // "" if nothing is captured
	}
	// Some is `place <~ /regex/`.
	Some struct {
		At
		Pattern Pattern
		As      string
	}
	// Rest is `place < rest`.
	Rest struct{ At }
	// Nothing is `place < nothing`.
	Nothing struct{ At }
	// Count is `place < N messages`.
	Count struct {
		At
		N int
	}
	// Threads is `place has N threads`.
	Threads struct {
		At
		N int
	}
)

// Time, and the life of the runtime.
type (
	// Advance is `advance 25h`.
	Advance struct{ For time.Duration }
	// Idle is `idle`.
	Idle struct{}
	// Kill is `kill`.
	Kill struct{}
	// Start is `start`.
	Start struct{}
	// Restart is `restart`.
	Restart struct{}
	// Crash is `crash NAME`.
	Crash struct{ Point string }
	// Config is `config FILE`, with Refused `config! FILE`.
	Config struct {
		File    string
		Refused bool
	}
	// NoRaceKill is `race-kill off REASON`.
	NoRaceKill struct{ Reason string }
)

// What a platform and its admins do, and what goes wrong.
type (
	// SetPlace is `place telegram/team forum`.
	SetPlace struct {
		At
		Kind string // forum, group, channel or direct
	}
	// Thread is `thread archive place/$T` and its like.
	Thread struct {
		At
		Op    string // archive, unarchive, delete, lock, unlock or rename
		Title string // of rename
	}
	// Migrate is `migrate place`.
	Migrate struct{ At }
	// Kick is `kick place`.
	Kick struct{ At }
	// Permit is `permit place`.
	Permit struct{ At }
	// Sent is `sent telegram METHOD /regex/`, with Not `sent! ...`.
	Sent struct {
		Channel, Method string
		Pattern         Pattern
		Not             bool
	}
	// Raw is `raw telegram FILE`. Account is "" for the default one.
	Raw struct{ Channel, Account, File string }
	// Fault is `fault CHANNEL METHOD ...`.
	Fault struct {
		Channel, Method string
		Kind            string        // ok-lost, fail, retry-after or slow
		Status          int           // of fail
		After           time.Duration // of retry-after and slow
		Times           int
	}
	// Redeliver is `dup telegram`, with Swap `reorder telegram`.
	Redeliver struct {
		Channel string
		Swap    bool
	}
)

// Commands of the binary, and the model.
type (
	// Command is `$ skein tasks list`. Args is without "skein".
	Command struct{ Args []string }
	// Output is `> /regex/`, with Not `>! /regex/`.
	Output struct {
		Pattern Pattern
		Not     bool
		As      string
	}
	// Exit is `exit N`.
	Exit struct{ Code int }
	// ModelSaw is `model /regex/`, with Not `model! /regex/`. Agent is "" for
	// any.
	ModelSaw struct {
		Agent   string
		Pattern Pattern
		Not     bool
	}
	// ModelCalls is `model calls N`.
	ModelCalls struct {
		Agent string
		N     int
	}
)

func (Say) statement()        {}
func (Edit) statement()       {}
func (Delete) statement()     {}
func (React) statement()      {}
func (Press) statement()      {}
func (SendFile) statement()   {}
func (OpenTopic) statement()  {}
func (Next) statement()       {}
func (Some) statement()       {}
func (Rest) statement()       {}
func (Nothing) statement()    {}
func (Count) statement()      {}
func (Threads) statement()    {}
func (Advance) statement()    {}
func (Idle) statement()       {}
func (Kill) statement()       {}
func (Start) statement()      {}
func (Restart) statement()    {}
func (Crash) statement()      {}
func (Config) statement()     {}
func (NoRaceKill) statement() {}
func (SetPlace) statement()   {}
func (Thread) statement()     {}
func (Migrate) statement()    {}
func (Kick) statement()       {}
func (Permit) statement()     {}
func (Sent) statement()       {}
func (Raw) statement()        {}
func (Fault) statement()      {}
func (Redeliver) statement()  {}
func (Command) statement()    {}
func (Output) statement()     {}
func (Exit) statement()       {}
func (ModelSaw) statement()   {}
func (ModelCalls) statement() {}

func (s Sent) channel() string      { return s.Channel }
func (s Raw) channel() string       { return s.Channel }
func (s Fault) channel() string     { return s.Channel }
func (s Redeliver) channel() string { return s.Channel }
