package script

import (
	"strings"
)

const expectationForm = "/regex/, rest, nothing or `N messages`"

// parseExpectation reads what follows `place <`, `place <~` and `place has`.
func parseExpectation(name, op, rest string) (Statement, error) {
	place, err := parsePlace(name)
	if err != nil {
		return nil, err
	}
	at := At{place}
	switch op {
	case "has":
		return parseThreads(at, rest)
	case "<~":
		if place.Each {
			return nil, want("one place before <~ (/* goes with < only)", name)
		}
		p, as, err := parsePattern(rest)
		if err != nil {
			return nil, err
		}
		return captured(Some{At: at, Pattern: p, As: as}, p, as)
	}
	if strings.HasPrefix(rest, "/") {
		return parseNext(at, rest)
	}
	word, more := cut(rest)
	switch {
	case word == "rest":
		return nothing(more, Rest{at})
	case word == "nothing":
		return nothing(more, Nothing{at})
	case strings.HasPrefix(more, "message"):
		return parseCount(at, word, more)
	}
	return nil, want(expectationForm, rest)
}

func parseNext(at At, rest string) (Statement, error) {
	p, as, err := parsePattern(rest)
	if err != nil {
		return nil, err
	}
	do := Next{At: at, Pattern: p, As: as}
	if at.Place.Each { // what is captured is the thread
		return do, nil
	}
	return captured(do, p, as)
}

// captured refuses a capture of a pattern that has no group.
func captured(do Statement, p Pattern, as string) (Statement, error) {
	if as != "" && p.groups() == 0 {
		return nil, want("a group in the pattern, such as (\\w+), for => "+as, p.String())
	}
	return do, nil
}

func parseThreads(at At, rest string) (Statement, error) {
	const form = "`has N threads`"
	if at.Place.Thread != "" || at.Place.Each {
		return nil, want("a conversation before has", at.Place.String())
	}
	word, more := cut(rest)
	n, err := number(word, form)
	if err != nil {
		return nil, err
	}
	if err := plural(more, "thread", form); err != nil {
		return nil, err
	}
	return Threads{at, n}, nil
}

func parseCount(at At, word, more string) (Statement, error) {
	n, err := number(word, "`N messages`")
	if err != nil {
		return nil, err
	}
	if err := plural(more, "message", "`N messages`"); err != nil {
		return nil, err
	}
	return Count{at, n}, nil
}

func plural(word, noun, form string) error {
	if word = strings.TrimSpace(word); word != noun && word != noun+"s" {
		return want(form, word)
	}
	return nil
}
