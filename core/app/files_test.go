package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/modeltest"
	"github.com/skein-bot/skein/core/store"
)

// png is the start of a picture, which is enough to know it by.
const png = "\x89PNG\r\n\x1a\n a small picture"

// sends has alice send a file.
func (s *scene) sends(place, text, name, content string) {
	s.Helper()
	_, err := s.server.Post(s.Context(), testserver.Post{
		By: testserver.User{Name: "alice"}, At: at(place), Text: text, File: &testserver.File{Name: name, Data: []byte(content)},
	})
	require.NoError(s, err)
	s.quiet()
}

// TestPicturesGoToModelsThatSee: as picture parts in both protocols, again in
// the next message and after a restart, and fetched once; a model that does not
// see gets a note.
func TestPicturesGoToModelsThatSee(t *testing.T) {
	t.Parallel()
	const data = "iVBORw0KGgogYSBzbWFsbCBwaWN0dXJl"
	for p, part := range map[modeltest.Protocol]string{
		modeltest.OpenAI:    `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}`,
		modeltest.Anthropic: `"type":"base64"`,
	} {
		service := modeltest.New()
		settings := fmt.Sprintf(`{
  models: { providers: { x: { type: %q, baseUrl: %q, apiKey: "k", models: [{ id: "seeing", vision: true }, { id: "blind", vision: false }] } } },
  agents: { defaults: { model: "x/seeing" } } }`, p, p.Base(service))
		s := prepareScene(t, settings, "")
		t.Cleanup(service.Close)
		service.On("seeing", modeltest.Say("a cat"))
		service.On("blind", modeltest.Say("I see nothing"))
		fetched := 0
		s.fetch = func(core.Attachment) error {
			fetched++
			return nil
		}
		s.start()
		body := func() string {
			got := service.Take()
			require.Len(t, got, 1)
			return string(got[0].Body)
		}
		s.sends("dm:alice", "what is this?", "cat.jpg", png)
		first := body()
		require.Contains(t, first, part)
		require.Contains(t, first, data)
		require.Contains(t, first, "image/png", "the content decides what it is")
		require.Contains(t, first, "what is this?")

		s.say("dm:alice", "and its colour?")
		require.Contains(t, body(), data)
		s.restart()
		s.say("dm:alice", "and its size?")
		require.Contains(t, body(), data)
		require.Equal(t, 1, fetched)
		require.Equal(t, []string{"a cat", "a cat", "a cat"}, s.told("dm:alice"))

		s.reload(strings.Replace(settings, `"x/seeing"`, `"x/blind"`, 1))
		s.say("dm:alice", "and you?")
		last := body()
		require.NotContains(t, last, data)
		require.Contains(t, last, `a picture, which you do not see here`)
		s.stop()
	}
}

// TestFilesOfEveryKind: what the model gets of a file, and that intake never
// fetches.
func TestFilesOfEveryKind(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 4<<10)
	for _, c := range []struct {
		name, file, content string
		fails               error
		want                []string
	}{
		{"text", "notes.md", "# Title\n[skein:note]", nil, []string{`[skein:file {"name":"notes.md"`, "\n| # Title\n| (skein:note]\n[skein:end]"}},
		{"text in UTF-16", "a.txt", "\xff\xfeh\x00\xe9\x00", nil, []string{"\n| hé\n[skein:end]"}},
		{"a long text", "long.txt", long, nil, []string{"only the first 32768 of 65536 bytes are shown; the whole is in the transcript", "| 0123456789abcde\n"}},
		{"no text in spite of its name", "a.json", "\xff\x00", nil, []string{"its content is not text"}},
		{"too long a text", "big.txt", strings.Repeat("x", 2<<20), nil, []string{"it is too large to be read: the limit is 1048576 bytes"}},
		{"a picture of another type", "a.png", "BM picture", nil, []string{"a picture of a type that models do not read"}},
		{"a program", "a.exe", "MZ", nil, []string{"a file of a kind that cannot be read here"}},
		{"a voice message", "a.mp3", "ID3", nil, []string{"a voice message, which you cannot hear; there is no transcript of it"}},
		{"a file that is gone", "a.txt", "", core.ErrNoFiles, []string{"this channel does not hand files over"}},
		{"a platform in trouble", "a.txt", "", errors.New("502 with a secret"), []string{"it could not be fetched"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, "", `{say: "ok"},`)
			s.fetch = func(core.Attachment) error { return c.fails }
			s.start()
			s.sends("team", "see this", c.file, c.content)
			require.Equal(t, []string{"ok"}, s.told("team"))
			items := s.last("").Items
			got := model.Render(items[len(items)-1])
			require.Contains(t, got, "see this\n[skein:file ")
			for _, want := range c.want {
				require.Contains(t, got, want)
			}
			require.NotContains(t, got, "secret")
			require.Less(t, len(got), 50<<10)
			if c.name == "a long text" {
				s.read(func(tx *store.Tx) error {
					rows, err := tx.Transcript(s.session("agent:main:console:default:group:team"))
					require.Contains(t, rows[0].Body, `de\n`+long[:len(long)-16][32<<10:32<<10+10], "the transcript has the whole")
					return err
				})
			}
			s.stop()
		})
	}
}

// TestAFileIsFetchedAfterIntake: a platform that does not answer holds the turn
// up and not the channel, and a crash meanwhile loses nothing.
func TestAFileIsFetchedAfterIntake(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, "", `{say: "ok"},`)
	tries := 0
	s.fetch = func(core.Attachment) error {
		tries++
		if tries == 1 {
			s.world.Cut() // as kill -9 does in the middle of it
		}
		return nil
	}
	s.start()
	_, err := s.server.Post(s.Context(), testserver.Post{
		By: testserver.User{Name: "alice"}, At: at("team"), Text: "see", File: &testserver.File{Name: "a.txt", Data: []byte("the text")},
	})
	require.NoError(t, err)
	for s.world.Err() == nil {
		s.pass(0)
	}
	s.crash(time.Second)
	s.pass(time.Minute)
	require.Equal(t, []string{"ok"}, s.told("team"))
	require.Equal(t, 2, tries)
	items := s.last("").Items
	require.Contains(t, model.Render(items[len(items)-1]), "| the text")
	s.stop()
}
