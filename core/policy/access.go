package policy

import (
	"log/slog"

	"github.com/skein-bot/skein/core"
)

// Request is one inbound event, with all that may be considered about it.
type Request struct {
	Author core.Author
	// Roles are the author's role ids in the guild, where there are any.
	Roles   []string
	Kind    core.ConversationKind
	Event   core.EventKind
	Address core.Address
	// Guild is the server that holds the address, "" where there is none.
	Guild string
	// Mentioned is set where the bot is addressed: by a mention, by a reply to
	// it, or by one of the configured mention patterns (Settings.Mentions).
	Mentioned bool
	// Bound is set where a live binding holds exactly this address. A binding
	// that a thread inherits from its parent does not count.
	Bound bool
	// Command says whether the event is a command and for whom.
	Command CommandForm
	// Looping is set where the author is a bot from which so many events came of
	// late that the two may be answering each other for ever.
	Looping bool
	// Paired is set where the author's pairing with this account was approved.
	// It counts under DMPairing only.
	Paired   bool
	Settings Settings
}

// CommandForm says whom a command addresses.
type CommandForm uint8

// The forms of a command.
const (
	NotCommand     CommandForm = iota
	CommandBare                // "/status": for whoever is addressed otherwise
	CommandToUs                // "/status@us", or chosen from our own menu
	CommandToOther             // "/status@other": ignored, whatever else holds
)

// Outcome is what becomes of an event.
type Outcome uint8

// The outcomes. The zero value is Deny.
const (
	// Deny: the event has no effect. People are told nothing, with one
	// exception that is not made here: a refused command (CommandAllowed).
	Deny Outcome = iota
	// Allow: the event goes on.
	Allow
	// Pair: the author may ask to be paired. A build without pairing treats it
	// as Deny.
	Pair
	// Ignore: the event is not for this bot. It has no effect, but a message
	// for ReasonNotAddressed is from an admitted person and may be shown to
	// the model as context later.
	Ignore
)

var outcomes = [...]string{Deny: "deny", Allow: "allow", Pair: "pair", Ignore: "ignore"}

// String returns the name that logs and metrics use.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}

// Reason says why a decision was made.
type Reason uint8

// The reasons, by outcome.
const (
	NoReason Reason = iota

	ReasonDMOpen       // allow: direct chats are open and no list narrows them
	ReasonGroupOpen    // allow: groups are open and no list narrows them
	ReasonGroupListed  // allow: the group is listed and no list of people narrows it
	ReasonSenderListed // allow: the author's id, or "*", is in the list
	ReasonRoleListed   // allow: a role of the author is in the list
	ReasonSenderPaired // allow: the author was paired

	ReasonNoSender        // deny: the author has no stable id
	ReasonNoPlace         // deny: a part of the address is missing
	ReasonUnknownKind     // deny: neither a direct chat nor a group
	ReasonUnknownPolicy   // deny: a policy word that this build does not know
	ReasonBot             // deny: the author is a bot, and bots are not heard here
	ReasonDMDisabled      // deny: direct chats are switched off
	ReasonGroupDisabled   // deny: groups are switched off
	ReasonGroupNotListed  // deny: the group is not in the list
	ReasonPlaceDisabled   // deny: this group or topic is switched off
	ReasonSenderNotListed // deny: the author is not in the list

	ReasonNotPaired // pair: the author is neither listed nor paired

	ReasonOwnMessage      // ignore: the bot itself wrote it
	ReasonOtherBot        // ignore: a command for another bot
	ReasonNotAddressed    // ignore: the bot must be addressed here and was not
	ReasonBotNotAddressed // ignore: a bot that must address us and did not
	ReasonBotLoop         // ignore: a bot that is silenced for a while
)

var reasons = [...]string{
	NoReason: "",

	ReasonDMOpen: "dm-open", ReasonGroupOpen: "group-open", ReasonGroupListed: "group-listed", ReasonSenderListed: "sender-listed",
	ReasonRoleListed: "role-listed", ReasonSenderPaired: "sender-paired",

	ReasonNoSender: "no-sender", ReasonNoPlace: "no-place", ReasonUnknownKind: "unknown-kind", ReasonUnknownPolicy: "unknown-policy",
	ReasonBot: "bot", ReasonDMDisabled: "dm-disabled", ReasonGroupDisabled: "group-disabled", ReasonGroupNotListed: "group-not-listed",
	ReasonPlaceDisabled: "place-disabled", ReasonSenderNotListed: "sender-not-listed",

	ReasonNotPaired: "not-paired",

	ReasonOwnMessage: "own-message", ReasonOtherBot: "other-bot", ReasonNotAddressed: "not-addressed",
	ReasonBotNotAddressed: "bot-not-addressed", ReasonBotLoop: "bot-loop",
}

// String returns the name that logs and metrics use.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown"
}

// Decision is the answer of Decide. The zero value denies.
type Decision struct {
	Outcome Outcome
	Reason  Reason
	// Rule is the configuration key that decided, relative to the account, ""
	// where none did.
	Rule string
}

// Allowed reports whether the event goes on.
func (d Decision) Allowed() bool { return d.Outcome == Allow }

// String returns the decision in one line, such as
// `deny: group-not-listed (groups)`.
func (d Decision) String() string {
	s := d.Outcome.String() + ": " + d.Reason.String()
	if d.Rule != "" {
		s += " (" + d.Rule + ")"
	}
	return s
}

// LogValue implements slog.LogValuer.
func (d Decision) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outcome", d.Outcome.String()), slog.String("reason", d.Reason.String()), slog.String("rule", d.Rule))
}

// Decide judges one inbound event. Intake calls it for each before anything
// else is done with it, and logs the decision. It does not block.
func Decide(r Request) Decision {
	a := r.Address
	switch {
	case r.Author.Self:
		return Decision{Ignore, ReasonOwnMessage, ""}
	case r.Author.ID == "":
		return Decision{Deny, ReasonNoSender, ""}
	case a.Channel == "" || a.Account == "" || a.Conversation == "":
		return Decision{Deny, ReasonNoPlace, ""}
	case r.Command == CommandToOther:
		return Decision{Ignore, ReasonOtherBot, ""}
	}
	switch r.Kind {
	case core.Direct:
		place := r.Settings.direct()
		return r.gate(place, r.admitBot(place, r.admitDirect()))
	case core.Group:
		place := r.Settings.at(a, r.Guild)
		return r.gate(place, r.admitBot(place, r.admitGroup(place)))
	}
	return Decision{Deny, ReasonUnknownKind, ""}
}

// admitDirect decides about a direct chat, the mention gate apart.
func (r Request) admitDirect() Decision {
	s := r.Settings
	listed := s.AllowFrom != nil && Listed(s.AllowFrom, r.Address.Channel, r.Author.ID)
	switch s.DMPolicy {
	case DMDisabled:
		return Decision{Deny, ReasonDMDisabled, "dmPolicy"}
	case DMOpen:
		if s.AllowFrom == nil {
			return Decision{Allow, ReasonDMOpen, "dmPolicy"}
		}
	case DMAllowlist:
	case DMPairing, "":
		switch {
		case listed:
		case r.Paired:
			return Decision{Allow, ReasonSenderPaired, "dmPolicy"}
		case !r.Author.Bot:
			return Decision{Pair, ReasonNotPaired, "dmPolicy"}
		}
	default:
		return Decision{Deny, ReasonUnknownPolicy, "dmPolicy"}
	}
	if listed {
		return Decision{Allow, ReasonSenderListed, "allowFrom"}
	}
	return Decision{Deny, ReasonSenderNotListed, "allowFrom"}
}

// admitGroup decides about a group, the mention gate apart.
func (r Request) admitGroup(place effective) Decision {
	s := r.Settings
	free := Decision{Allow, ReasonGroupOpen, "groupPolicy"}
	switch s.GroupPolicy {
	case GroupDisabled:
		return Decision{Deny, ReasonGroupDisabled, "groupPolicy"}
	case GroupOpen:
	case GroupAllowlist, "":
		if place.listedBy == "" {
			return Decision{Deny, ReasonGroupNotListed, "groups"}
		}
		free = Decision{Allow, ReasonGroupListed, place.listedBy}
	default:
		return Decision{Deny, ReasonUnknownPolicy, "groupPolicy"}
	}
	switch {
	case place.off:
		return Decision{Deny, ReasonPlaceDisabled, place.offBy}
	case place.people == nil && place.roles == nil:
		return free
	case Listed(place.people, r.Address.Channel, r.Author.ID):
		return Decision{Allow, ReasonSenderListed, place.peopleBy}
	case hasRole(place.roles, r.Roles):
		return Decision{Allow, ReasonRoleListed, place.peopleBy}
	}
	return Decision{Deny, ReasonSenderNotListed, place.peopleBy}
}

// admitBot refuses a bot where bots are not heard; so is one whose policy is
// unknown.
func (r Request) admitBot(place effective, d Decision) Decision {
	if d.Outcome != Allow || !r.Author.Bot {
		return d
	}
	switch place.bots {
	case BotsAll, BotsMentions:
		return d
	case BotsNone, "":
		return Decision{Deny, ReasonBot, place.botsBy}
	}
	return Decision{Deny, ReasonUnknownPolicy, place.botsBy}
}

// gate holds back what is not for this bot from those who are admitted.
func (r Request) gate(place effective, d Decision) Decision {
	if d.Outcome != Allow {
		return d
	}
	switch r.Event {
	case core.EventEdit, core.EventDelete, core.EventPress:
		// A button is ours, and an edit or a deletion concerns a message that
		// passed the gate, or one that nobody here knows.
		return d
	}
	addressed := r.Mentioned || r.Command == CommandToUs
	if r.Author.Bot && place.bots == BotsMentions && !addressed {
		return Decision{Ignore, ReasonBotNotAddressed, place.botsBy}
	}
	threaded := r.Address.Thread != "" || r.Address.Parent != ""
	switch {
	case r.Kind != core.Direct && !addressed && !(r.Bound && threaded) && place.mention:
		return Decision{Ignore, ReasonNotAddressed, place.mentionBy}
	case r.Author.Bot && r.Looping:
		return Decision{Ignore, ReasonBotLoop, ""}
	}
	return d
}
