package script

import (
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core/world"
)

// keywords maps the first word of all other lines to their parsers.
func keywords() map[string]func(rest string) (Statement, error) {
	bare := func(do Statement) func(string) (Statement, error) {
		return func(rest string) (Statement, error) { return nothing(rest, do) }
	}
	return map[string]func(string) (Statement, error){
		"advance": parseAdvance, "idle": bare(Idle{}),
		"kill": bare(Kill{}), "start": bare(Start{}), "restart": bare(Restart{}), "crash": parseCrash,
		"config":  func(rest string) (Statement, error) { return parseConfig(rest, false) },
		"config!": func(rest string) (Statement, error) { return parseConfig(rest, true) },
		"place":   parseSetPlace, "thread": parseThread,
		"migrate": func(rest string) (Statement, error) {
			return parseAt(rest, func(at At) Statement { return Migrate{at} })
		},
		"kick": func(rest string) (Statement, error) { return parseAt(rest, func(at At) Statement { return Kick{at} }) },
		"permit": func(rest string) (Statement, error) {
			return parseAt(rest, func(at At) Statement { return Permit{at} })
		},
		"sent":  func(rest string) (Statement, error) { return parseSent(rest, false) },
		"sent!": func(rest string) (Statement, error) { return parseSent(rest, true) },
		"raw":   parseRaw, "fault": parseFault,
		"dup":     func(rest string) (Statement, error) { return parseRedeliver(rest, false) },
		"reorder": func(rest string) (Statement, error) { return parseRedeliver(rest, true) },
		"$":       parseCommand, "exit": parseExit,
		">":         func(rest string) (Statement, error) { return parseOutput(rest, false) },
		">!":        func(rest string) (Statement, error) { return parseOutput(rest, true) },
		"model":     func(rest string) (Statement, error) { return parseModel(rest, false) },
		"model!":    func(rest string) (Statement, error) { return parseModel(rest, true) },
		"race-kill": parseRaceKill,
	}
}

// ParseDuration reads a Go duration that may begin with days: 25h, 1h30m, 1d,
// 2d12h, 1ms. It is not negative.
func ParseDuration(s string) (time.Duration, error) {
	fault := want("a duration such as 25h, 1h30m, 2d or 500ms", s)
	var days time.Duration
	rest := s
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, fault
		}
		days, rest = time.Duration(n)*24*time.Hour, tail
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > maxDuration || strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") {
		return 0, fault
	}
	return days + d, nil
}

const maxDuration = 100 * 365 * 24 * time.Hour

func parseAdvance(rest string) (Statement, error) {
	d, err := ParseDuration(strings.TrimSpace(rest))
	if err != nil {
		return nil, err
	}
	return Advance{For: d}, nil
}

func parseCrash(rest string) (Statement, error) {
	if !world.Known(rest) {
		return nil, want("a crash point (skein test --list-crash-points lists them)", rest)
	}
	return Crash{Point: rest}, nil
}

func parseConfig(rest string, refused bool) (Statement, error) {
	name, more := cut(rest)
	if name == "" {
		return nil, want("the name of a file of this script", "")
	}
	return nothing(more, Config{File: name, Refused: refused})
}

func parseSetPlace(rest string) (Statement, error) {
	name, kind := cut(rest)
	place, err := ParsePlace(name)
	if err != nil {
		return nil, err
	}
	if place.Thread != "" {
		return nil, want("a conversation, not a thread", name)
	}
	if err := oneOf(kind, "", "forum", "group", "channel", "direct"); err != nil {
		return nil, err
	}
	return SetPlace{At: At{place}, Kind: kind}, nil
}

func parseThread(rest string) (Statement, error) {
	op, rest := cut(rest)
	if err := oneOf(op, "", "archive", "unarchive", "delete", "lock", "unlock", "rename"); err != nil {
		return nil, err
	}
	name, title := cut(rest)
	place, err := ParsePlace(name)
	switch {
	case err != nil:
		return nil, err
	case place.Thread == "":
		return nil, want("a thread, such as console/main/$T", name)
	case op != "rename":
		return nothing(title, Thread{At: At{place}, Op: op})
	}
	if quoted, err := strconv.Unquote(title); err == nil {
		title = quoted
	}
	if title == "" {
		title = "renamed"
	}
	return Thread{At: At{place}, Op: op, Title: title}, nil
}

func parseAt(rest string, do func(At) Statement) (Statement, error) {
	place, err := ParsePlace(rest)
	if err != nil {
		return nil, err
	}
	return do(At{place}), nil
}

func parseSent(rest string, not bool) (Statement, error) {
	name, rest := cut(rest)
	channel, _, err := channelAccount(name)
	if err != nil {
		return nil, err
	}
	method, rest := cut(rest)
	if method == "" || method[0] == '/' {
		return nil, want("a method before the pattern, such as send", method)
	}
	p, as, err := parsePattern(rest)
	if err != nil {
		return nil, err
	}
	if as != "" {
		return nil, want("no capture on this line", "=> "+as)
	}
	return Sent{Channel: channel, Method: method, Pattern: p, Not: not}, nil
}

func parseRaw(rest string) (Statement, error) {
	name, rest := cut(rest)
	channel, account, err := channelAccount(name)
	if err != nil {
		return nil, err
	}
	file, more := cut(rest)
	if file == "" {
		return nil, want("the name of a file of this script", "")
	}
	return nothing(more, Raw{Channel: channel, Account: account, File: file})
}

const faultForm = "ok-lost, fail STATUS, retry-after DURATION or slow DURATION, and x N after it if need be"

func parseFault(rest string) (Statement, error) {
	name, rest := cut(rest)
	channel, _, err := channelAccount(name)
	if err != nil {
		return nil, err
	}
	do := Fault{Channel: channel, Times: 1}
	do.Method, rest = cut(rest)
	if do.Method == "" {
		return nil, want("a method: send, edit, open-child, close-child, typing, poll or a native name", "")
	}
	do.Kind, rest = cut(rest)
	switch do.Kind {
	case "ok-lost":
	case "fail":
		var status string
		status, rest = cut(rest)
		do.Status, err = number(status, "the status of a refusal, such as 403")
	case "retry-after", "slow":
		var after string
		after, rest = cut(rest)
		do.After, err = ParseDuration(after)
	default:
		err = want(faultForm, do.Kind)
	}
	if err == nil {
		do.Times, err = parseTimes(rest)
	}
	if err != nil {
		return nil, err
	}
	return do, nil
}

// parseTimes reads `x N` or nothing.
func parseTimes(s string) (int, error) {
	if s = strings.TrimSpace(s); s == "" {
		return 1, nil
	}
	digits, ok := strings.CutPrefix(s, "x")
	n, err := number(strings.TrimSpace(digits), "`x N`")
	if !ok || err != nil || n == 0 {
		return 0, want("`x N`", s)
	}
	return n, nil
}

func parseRedeliver(rest string, swap bool) (Statement, error) {
	name, more := cut(rest)
	channel, _, err := channelAccount(name)
	if err != nil {
		return nil, err
	}
	return nothing(more, Redeliver{Channel: channel, Swap: swap})
}

func parseOutput(rest string, not bool) (Statement, error) {
	p, as, err := parsePattern(rest)
	if err != nil {
		return nil, err
	}
	if not && as != "" {
		return nil, want("no capture of what must not match", "=> "+as)
	}
	return captured(Output{Pattern: p, Not: not, As: as}, p, as)
}

func parseExit(rest string) (Statement, error) {
	n, err := number(rest, "an exit code, such as 0")
	if err != nil {
		return nil, err
	}
	return Exit{Code: n}, nil
}

func parseModel(rest string, not bool) (Statement, error) {
	agent := ""
	if strings.HasPrefix(rest, "(") {
		inside, after, ok := strings.Cut(rest[1:], ")")
		if !ok || inside == "" {
			return nil, want("`model(agent)`", "model"+rest)
		}
		agent, rest = inside, strings.TrimSpace(after)
	}
	if word, count := cut(rest); word == "calls" && !not {
		n, err := number(strings.TrimSpace(count), "`model calls N`")
		if err != nil {
			return nil, err
		}
		return ModelCalls{Agent: agent, N: n}, nil
	}
	p, as, err := parsePattern(rest)
	if err != nil {
		return nil, err
	}
	if as != "" {
		return nil, want("no capture on this line", "=> "+as)
	}
	return ModelSaw{Agent: agent, Pattern: p, Not: not}, nil
}

func parseRaceKill(rest string) (Statement, error) {
	word, reason := cut(rest)
	if word != "off" || reason == "" {
		return nil, want("`race-kill off REASON`", rest)
	}
	return NoRaceKill{Reason: reason}, nil
}

// parseCommand splits a command line into words. Words may be quoted as in a
// shell; nothing is expanded.
func parseCommand(rest string) (Statement, error) {
	words, err := splitWords(rest)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 || words[0] != "skein" {
		return nil, want("`$ skein ...`; only skein itself can be run", rest)
	}
	return Command{Args: words[1:]}, nil
}

func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, want("the closing quote "+string(quote), s)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
