package command

import "strings"

// Line is a message that is a command.
type Line struct {
	// Name is the command without its slash, in lower case.
	Name string
	// Bot is whom it addresses ("/stop@bot"), "" for nobody in particular.
	Bot string
	// Args is the rest, without the white space around it.
	Args string
}

// Parse reads a message that begins with a slash and a name: a letter, then
// letters, digits, '-' and '_', then the end, white space, or '@' and the name of
// a bot. Case does not matter: keyboards begin a message with a capital. Whatever
// else there is, like /usr/bin, is no command.
func Parse(text string) (Line, bool) {
	text = strings.TrimSpace(text)
	word, args := cutWord(text)
	name, bot, addressed := strings.Cut(word, "@")
	name, slash := strings.CutPrefix(strings.ToLower(name), "/")
	if !slash || !validName(name) || addressed && bot == "" {
		return Line{}, false
	}
	return Line{Name: name, Bot: bot, Args: args}, true
}

// BeginsTurn reports whether a command sets an agent to work, as a message does:
// the limits of people's turns hold for it too.
func BeginsTurn(l Line) bool {
	verb, _ := cutWord(l.Args)
	return l.Name == "retry" || l.Name == "subagents" && (verb == "send" || verb == "spawn")
}

// cutWord splits text after its first word; both parts are trimmed.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\r\n\v\f"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

func validName(s string) bool {
	for i := range len(s) {
		letter := s[i] >= 'a' && s[i] <= 'z'
		if !letter && (i == 0 || s[i] != '-' && s[i] != '_' && (s[i] < '0' || s[i] > '9')) {
			return false
		}
	}
	return s != ""
}
