package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
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
	ID string `json:"id"` // opaque to all but the adapter
	// From is where the message came, whose account can fetch it.
	From core.Address `json:"from"`
	Name string       `json:"name,omitempty"`
	Type string       `json:"type,omitempty"` // MIME type: the platform's, once fetched that of the content
	Size int64        `json:"size,omitempty"` // bytes, 0 if unknown
	Kind FileKind     `json:"kind"`
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

// NewFile returns what a platform says about a file.
func NewFile(from core.Address, a core.Attachment) File {
	f := File{ID: a.ID, From: from, Name: a.Name, Type: a.Type, Size: a.Size}
	kind, _, _ := strings.Cut(strings.ToLower(a.Type), ";")
	kind = strings.TrimSpace(kind)
	ext := strings.ToLower(path.Ext(a.Name))
	unsaid := kind == "" || kind == "application/octet-stream" || kind == "application/ogg"
	switch {
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml", unsaid && slices.Contains(pictureNames, ext):
		f.Kind = Picture
	case strings.HasPrefix(kind, "audio/"), unsaid && slices.Contains(voiceNames, ext):
		f.Kind = Voice
	case strings.HasPrefix(kind, "text/"), textType.MatchString(kind), slices.Contains(textNames, ext):
		f.Kind = Document
	default:
		f.Kind = OtherFile
	}
	return f
}

// What files are by the type or, where a platform does not say it, the end of
// the name.
var (
	textType     = regexp.MustCompile(`^(image/svg\+xml|application/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|ndjson|x-ndjson))$`)
	pictureNames = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}
	voiceNames   = []string{".ogg", ".oga", ".opus", ".mp3", ".m4a", ".wav", ".flac", ".aac", ".amr"}
	textNames    = []string{
		".txt", ".md", ".csv", ".tsv", ".json", ".json5", ".yaml", ".yml", ".toml", ".xml", ".html", ".htm", ".css", ".svg", ".log", ".ini", ".conf",
		".go", ".py", ".js", ".ts", ".java", ".c", ".h", ".cpp", ".rs", ".rb", ".php", ".sh", ".sql", ".tex", ".rst", ".diff", ".patch", ".srt",
	}
)

// DocumentText returns the content of a document as text: UTF-8, or UTF-16 with
// its mark. The error says to a model why there is none.
func DocumentText(content []byte) (string, error) {
	var units []uint16
	switch {
	case bytes.HasPrefix(content, []byte{0xFF, 0xFE}), bytes.HasPrefix(content, []byte{0xFE, 0xFF}):
		order := binary.ByteOrder(binary.LittleEndian)
		if content[0] == 0xFE {
			order = binary.BigEndian
		}
		for content = content[2:]; len(content) > 1; content = content[2:] {
			units = append(units, order.Uint16(content))
		}
		return Clean(string(utf16.Decode(units))), nil
	case !utf8.Valid(content), bytes.IndexByte(content, 0) >= 0:
		return "", errors.New("its content is not text")
	}
	return string(bytes.TrimPrefix(content, []byte("\uFEFF"))), nil
}

// pictureTokens is about what services count for one picture.
const pictureTokens = 1600

// Tokens estimates what a file adds to a request, with an estimate for texts.
func (f File) Tokens(of func(string) int) int {
	if f.Ref != "" {
		return pictureTokens
	}
	text, _ := cutText(f.Text)
	return 40 + of(f.Name) + of(f.Type) + of(f.Why) + of(text) + 2*strings.Count(text, "\n")
}

// maxFileText is how many bytes of a document a prompt carries; the transcript
// keeps the whole.
const maxFileText = 32 << 10

// fileNote is how a file stands in its mark.
type fileNote struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"bytes,omitempty"`
	Note string `json:"note,omitempty"`
}

// fileNames names what came with a message, each on a line: [file "cat.png"].
func fileNames(i Item) string {
	var b strings.Builder
	for _, f := range i.Files {
		fmt.Fprintf(&b, "\n[file %q]", f.Name)
	}
	return b.String()
}

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
	fmt.Fprintf(b, "\n[skein:file %s]", encode(fileNote{flat(f.Name), flat(f.Type), f.Size, flat(note)}))
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
