package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core/words"
)

// formatFault says what a string should have been.
type formatFault struct {
	expected, suggestion string
}

var (
	agentIDPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	idPattern      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	sha256Pattern  = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

// What names should have been.
const (
	agentIDWords = "an agent id: up to 64 of a-z, 0-9, _ and -, starting with a letter or digit"
	idWords      = "a name: up to 64 of A-Z, a-z, 0-9, _, . and -, starting with a letter or digit"
)

// checkFormat says what is wrong with a string that is not empty, or returns
// nil. Formats without a case here accept everything.
func checkFormat(format, text string) *formatFault {
	switch format {
	case "url":
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, strings.ToLower(u.Scheme)) {
			return &formatFault{expected: "a URL such as https://host:port/path"}
		}
	case "model":
		if provider, id, ok := strings.Cut(text, "/"); !ok || provider == "" || id == "" {
			return &formatFault{expected: "a model written <provider>/<model id>"}
		}
	case "agentIdOrAll":
		if text == "*" {
			return nil
		}
		return checkFormat("agentId", text)
	case "agentId":
		if !agentIDPattern.MatchString(text) {
			return &formatFault{expected: agentIDWords, suggestion: suggestName("agentId", text)}
		}
	case "timezone":
		if _, err := time.LoadLocation(text); err != nil {
			return &formatFault{expected: "an IANA time zone such as Europe/Berlin"}
		}
	case "regexp":
		if _, err := regexp.Compile(text); err != nil {
			return &formatFault{expected: "a regular expression (RE2)", suggestion: err.Error()}
		}
	case "sha256":
		if !sha256Pattern.MatchString(text) {
			return &formatFault{expected: "64 hexadecimal digits"}
		}
	case "language":
		if _, err := words.Find(text); err != nil {
			return &formatFault{expected: "a language that texts are shipped in", suggestion: "shipped are " + strings.Join(words.Tags(), ", ")}
		}
	case "listen":
		return checkListen(text)
	case "store":
		return checkStore(text)
	case "channel", "sender", "address":
		return checkRemote(format, text)
	case "tool":
		return checkTool(text)
	}
	return nil
}

// ToolGroups returns the names that lists of tools may use as "group:<name>",
// sorted. Their members are core/policy's.
func ToolGroups() []string {
	return []string{"agents", "automation", "fs", "memory", "messaging", "plugins", "runtime", "sessions", "ui", "web"}
}

// checkTool refuses an unknown group in a list of tools: it would name nothing,
// so that what it was to forbid stays allowed.
func checkTool(text string) *formatFault {
	const prefix = "group:"
	group, ok := strings.CutPrefix(strings.ToLower(text), prefix)
	if !ok || slices.Contains(ToolGroups(), group) {
		return nil
	}
	fault := &formatFault{expected: "a tool, a pattern with * or a group of tools", suggestion: "groups are " + strings.Join(ToolGroups(), ", ")}
	if near := nearestWord(group, ToolGroups()); near != "" {
		fault.suggestion = "did you mean " + quote(prefix+near) + "?"
	}
	return fault
}

func checkListen(text string) *formatFault {
	_, port, err := net.SplitHostPort(text)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return &formatFault{expected: "host:port, such as 127.0.0.1:7878"}
	}
	return nil
}

func checkStore(text string) *formatFault {
	fault := &formatFault{expected: "sqlite:PATH or postgres://USER@HOST/DATABASE"}
	if path, ok := (StoreURL(text)).SQLitePath(); ok {
		if path == "" {
			return fault
		}
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		if err == nil && u.Scheme == "" {
			fault.suggestion = "write " + quote("sqlite:"+text)
		}
		return fault
	}
	return nil
}

// checkRemote checks what names a channel: the name itself, a person, an
// address.
func checkRemote(format, text string) *formatFault {
	channel, rest, _ := strings.Cut(text, ":")
	fault := &formatFault{}
	switch format {
	case "channel":
		fault.expected = "a channel"
	case "sender":
		if text == "*" {
			return nil
		}
		fault.expected = "a person written <channel>:<user id>"
		if rest == "" {
			return fault
		}
	case "address":
		fault.expected = "an address written <channel>:<account>:<conversation>[/<thread>]"
		if account, conversation, _ := strings.Cut(rest, ":"); account == "" || conversation == "" {
			return fault
		}
	}
	if slices.Contains(channelNames(), channel) {
		return nil
	}
	fault.suggestion = "channels are " + strings.Join(channelNames(), ", ")
	if near := nearestWord(channel, channelNames()); near != "" {
		fault.suggestion = "did you mean " + near + "?"
	}
	return fault
}

// checkName says what the name of a map entry should have been, or returns "".
func checkName(rule, name string) (expected string) {
	switch rule {
	case "agentId":
		if !agentIDPattern.MatchString(name) {
			return agentIDWords
		}
	case "id":
		if !idPattern.MatchString(name) {
			return idWords
		}
	case "providerOrModel":
		provider, model, whole := strings.Cut(name, "/")
		if !idPattern.MatchString(provider) || whole && strings.TrimSpace(model) == "" {
			return "a provider or a model, written <provider>/<model id>"
		}
	case "channel":
		if !slices.Contains(channelNames(), name) {
			return "one of the channels " + strings.Join(channelNames(), ", ")
		}
	}
	return ""
}

// suggestName offers a valid name near to an invalid one.
func suggestName(rule, name string) string {
	switch rule {
	case "channel":
		if near := nearestWord(name, channelNames()); near != "" {
			return "did you mean " + near + "?"
		}
	case "agentId":
		slug := strings.Trim(regexp.MustCompile(`[^a-z0-9_-]+`).ReplaceAllString(strings.ToLower(name), "-"), "-_")
		if agentIDPattern.MatchString(slug) {
			return "did you mean " + quote(slug) + "?"
		}
	}
	return ""
}
