package script

import (
	"regexp"
	"strconv"
	"strings"
)

var userForm = regexp.MustCompile(`^([\pL_][\pL\pN_.-]*)(?:\((\w*)\))?$`)

func parseUser(s string) (By, error) {
	m := userForm.FindStringSubmatch(s)
	if m == nil {
		return By{}, want("a person such as alice, alice(owner) or helper(bot)", s)
	}
	u := User{Name: m[1], Owner: m[2] == "owner", Bot: m[2] == "bot"}
	if strings.HasSuffix(s, ")") && !u.Owner && !u.Bot {
		return By{}, want("(owner) or (bot) after the name", "("+m[2]+")")
	}
	return By{u}, nil
}

// personVerbs maps the second word of a line about a person to its parser.
func personVerbs() map[string]func(By, string) (Statement, error) {
	return map[string]func(By, string) (Statement, error){
		"@":       parseSay,
		"edits":   parseEdit,
		"deletes": parseDelete,
		"replies": parseReply,
		"reacts":  parseReact,
		"presses": parsePress,
		"sends":   parseSendFile,
		"opens":   parseOpenTopic,
	}
}

func parseSay(by By, rest string) (Statement, error) {
	at, text, err := placeAndText(rest)
	if err != nil {
		return nil, err
	}
	do := Say{By: by, At: at}
	do.Text, do.Command = spoken(text)
	return do, nil
}

// placeAndText reads `place: text`.
func placeAndText(s string) (At, string, error) {
	word, text := cut(s)
	name, ok := strings.CutSuffix(word, ":")
	if !ok {
		return At{}, "", want("`place: text`, a space after the colon", s)
	}
	place, err := ParsePlace(name)
	if err != nil {
		return At{}, "", err
	}
	if text == "" {
		return At{}, "", want("a text after the colon", "")
	}
	return At{place}, text, nil
}

var nativeCommand = regexp.MustCompile(`^!([a-z][a-z0-9_-]*)(\s|$)`)

// spoken replaces the escaped line breaks of a text and tells a native command.
func spoken(text string) (string, bool) {
	if nativeCommand.MatchString(text) {
		return unescape(text[1:]), true
	}
	return unescape(text), false
}

func unescape(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

func parseTarget(s string) (Target, error) {
	switch t := Target(s); t {
	case Last, Bot:
		return t, nil
	}
	return "", want("LAST (that person's newest message) or BOT (the bot's)", s)
}

// targetAndPlace reads `LAST` or `LAST @ place`.
func targetAndPlace(s string) (t Target, at At, err error) {
	word, rest := cut(s)
	if t, err = parseTarget(word); err != nil {
		return "", At{}, err
	}
	at, err = optionalPlace(rest)
	return t, at, err
}

// optionalPlace reads `@ place` or nothing.
func optionalPlace(s string) (At, error) {
	if s = strings.TrimSpace(s); s == "" {
		return At{}, nil
	}
	return atPlace(s)
}

// atPlace reads `@ place`.
func atPlace(s string) (At, error) {
	sign, name := cut(s)
	if sign != "@" {
		return At{}, want("`@ place`", s)
	}
	place, err := ParsePlace(strings.TrimSpace(name))
	return At{place}, err
}

func parseEdit(by By, rest string) (Statement, error) {
	head, text, ok := strings.Cut(rest, ": ")
	if !ok || strings.TrimSpace(text) == "" {
		return nil, want("`LAST: text`", rest)
	}
	t, at, err := targetAndPlace(head)
	if err != nil {
		return nil, err
	}
	return Edit{By: by, At: at, Target: t, Text: unescape(strings.TrimSpace(text))}, nil
}

func parseDelete(by By, rest string) (Statement, error) {
	t, at, err := targetAndPlace(rest)
	if err != nil {
		return nil, err
	}
	return Delete{By: by, At: at, Target: t}, nil
}

func parseReply(by By, rest string) (Statement, error) {
	to, rest := cut(rest)
	word, rest := cut(rest)
	t, err := parseTarget(word)
	sign, rest := cut(rest)
	switch {
	case to != "to" || sign != "@":
		return nil, want("`replies to LAST @ place: text`", "replies "+to)
	case err != nil:
		return nil, err
	}
	do, err := parseSay(by, rest)
	if err != nil {
		return nil, err
	}
	say := do.(Say)
	say.ReplyTo = t
	return say, nil
}

func parseReact(by By, rest string) (Statement, error) {
	word, rest := cut(rest)
	t, err := parseTarget(word)
	if err != nil {
		return nil, err
	}
	emoji, rest := cut(rest)
	if emoji == "" || emoji == "@" {
		return nil, want("an emoji after "+word, emoji)
	}
	at, err := optionalPlace(rest)
	if err != nil {
		return nil, err
	}
	return React{By: by, At: at, Target: t, Emoji: emoji}, nil
}

func parsePress(by By, rest string) (Statement, error) {
	end := strings.LastIndex(rest, "] @ ")
	if !strings.HasPrefix(rest, "[") || end < 2 {
		return nil, want("`presses [Label] @ place`", rest)
	}
	at, err := atPlace(rest[end+2:])
	if err != nil {
		return nil, err
	}
	return Press{By: by, At: at, Label: rest[1:end]}, nil
}

func parseSendFile(by By, rest string) (Statement, error) {
	word, rest := cut(rest)
	name, rest := cut(rest)
	sign, rest := cut(rest)
	if word != "file" || name == "" || sign != "@" {
		return nil, want("`sends file NAME @ place`", strings.TrimSpace("sends "+word+" "+name))
	}
	if first, _ := cut(rest); strings.HasSuffix(first, ":") {
		at, text, err := placeAndText(rest)
		if err != nil {
			return nil, err
		}
		return SendFile{By: by, At: at, File: name, Text: unescape(text)}, nil
	}
	place, err := ParsePlace(strings.TrimSpace(rest))
	if err != nil {
		return nil, err
	}
	return SendFile{By: by, At: At{place}, File: name}, nil
}

func parseOpenTopic(by By, rest string) (Statement, error) {
	word, rest := cut(rest)
	title, err := strconv.QuotedPrefix(rest)
	if word != "topic" || err != nil || title[0] != '"' {
		return nil, want("`opens topic \"name\" @ place => T`", "opens "+strings.TrimSpace(word+" "+rest))
	}
	rest = rest[len(title):]
	if title, err = strconv.Unquote(title); err != nil || strings.TrimSpace(title) == "" {
		return nil, want("the topic's name in double quotes", title)
	}
	place, name, captures := strings.Cut(rest, "=>")
	do := OpenTopic{By: by, Title: title}
	if captures {
		if do.As, err = parseName(name); err != nil {
			return nil, err
		}
	}
	if do.At, err = atPlace(place); err != nil {
		return nil, err
	}
	return do, nil
}
