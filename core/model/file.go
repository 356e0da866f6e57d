package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// FileKind says what a file that came with a message is good for.
type FileKind string

// The kinds of file.
const (
	Picture   FileKind = "picture"  // models that see get it
	Document  FileKind = "document" // its text is in the prompt
	Voice     FileKind = "voice"    // a note says that it came
	OtherFile FileKind = "other"    // a note says that it came
)

// File is a file that came with a message. Intake writes what the platform
// says about it; the turn fetches it and fills in the rest.
type File struct {
	ID   string   `json:"id"` // opaque to all but the adapter
	Name string   `json:"name,omitempty"`
	Type string   `json:"type,omitempty"` // MIME type: the platform's, once fetched that of the content
	Size int64    `json:"size,omitempty"` // bytes, 0 if unknown
	Kind FileKind `json:"kind"`
	// Looked is set once the file was fetched, or will never be.
	Looked bool `json:"looked,omitempty"`
	// Why says why it cannot be read, "" if it can.
	Why string `json:"why,omitempty"`
	// Ref names the kept content of a picture.
	Ref string `json:"ref,omitempty"`
	// Text is that of a document, whole.
	Text string `json:"text,omitempty"`
	// Data is the content of a picture in base64, in a request to a model that
	// sees.
	Data string `json:"-"`
}

// WithoutPictures returns an item for a model that does not see.
func WithoutPictures(i Item) Item {
	if !slices.ContainsFunc(i.Files, func(f File) bool { return f.Data != "" }) {
		return i
	}
	i.Files = slices.Clone(i.Files)
	for n := range i.Files {
		i.Files[n].Data = ""
	}
	return i
}

// maxFileText is how many bytes of a document a prompt carries; the transcript
// keeps the whole.
const maxFileText = 32 << 10

// renderFile says what came, and the text of a document.
func renderFile(b *strings.Builder, f File) {
	note := f.Why
	text, cut := cutText(f.Text)
	switch {
	case note != "":
	case f.Data != "":
		note = "this picture"
	case f.Kind == Picture && f.Ref != "":
		note = "a picture, which you do not see here"
	case f.Kind == Voice:
		note = "a voice message, which you cannot hear; there is no transcript of it"
	case f.Kind != Document || !f.Looked:
		note = "it was not read"
	case cut:
		note = fmt.Sprintf("only the first %d of %d bytes are shown; the whole is in the transcript", len(text), len(f.Text))
	}
	fmt.Fprintf(b, "\n[skein:file %s]", encode(struct {
		Name string `json:"name,omitempty"`
		Type string `json:"type,omitempty"`
		Size int64  `json:"bytes,omitempty"`
		Note string `json:"note,omitempty"`
	}{flat(f.Name), flat(f.Type), f.Size, flat(note)}))
	if f.Kind == Document && f.Looked && f.Why == "" {
		fmt.Fprintf(b, "\n%s\n[skein:end]", quotedLines(text))
	}
}

// cutText cuts the text of a document to what a prompt carries.
func cutText(s string) (text string, cut bool) {
	if len(s) <= maxFileText {
		return s, false
	}
	n := maxFileText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}
