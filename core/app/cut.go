package app

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/skein-bot/skein/core"
)

// cut splits text at the limit of a channel, where the embedder has no splitter
// that knows its notation: after the last line end of the later half of a part,
// else between characters. What it returns is text again when joined.
func cut(text string, caps core.Capabilities) (parts []string) {
	if caps.TextLimit <= 0 {
		return []string{text}
	}
	for text != "" {
		n := fit(text, caps)
		parts, text = append(parts, text[:n]), text[n:]
	}
	return parts
}

// fit returns how many bytes of text make the next part: at least one
// character, whatever the limit.
func fit(text string, caps core.Capabilities) int {
	size, end, line := 0, 0, 0
	for end < len(text) {
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[end:], -1)
		n := units(cluster, caps.TextUnit)
		if n > caps.TextLimit && end == 0 { // one character is over the limit: cut it between its runes
			return fitRunes(cluster, caps)
		}
		if size+n > caps.TextLimit {
			break
		}
		size, end = size+n, end+len(cluster)
		if (cluster == "\n" || cluster == "\r\n") && size > caps.TextLimit/2 {
			line = end
		}
	}
	if end < len(text) && line > 0 {
		return line
	}
	return end
}

func fitRunes(cluster string, caps core.Capabilities) int {
	size, end := 0, 0
	for _, r := range cluster {
		n := units(string(r), caps.TextUnit)
		if end > 0 && size+n > caps.TextLimit {
			break
		}
		size, end = size+n, end+utf8.RuneLen(r)
	}
	return end
}

// units measures a character as the channel does.
func units(s, unit string) (n int) {
	switch unit {
	case "bytes":
		return len(s)
	case "runes":
		return utf8.RuneCountInString(s)
	case "graphemes":
		return 1
	}
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
