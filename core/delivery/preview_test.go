package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func preview(text string) store.Outbox {
	row := message(text)
	row.Kind = store.OutPreview
	return row
}

// answer is the message that replaces a preview.
func answer(text string, preview int64) store.Outbox {
	row := message(text)
	row.Preview = preview
	return row
}

// stream starts a rig on a platform that shows answers while they are written.
func stream(t *testing.T, native bool, with func(*Options)) *rig {
	t.Helper()
	r := start(t, native, with)
	r.streaming()
	return r
}

func (r *rig) drop(id int64) {
	r.t.Helper()
	require.NoError(r.t, r.tx(func(tx *store.Tx) error { return r.s.DropPreview(tx, id) }))
	r.quiet()
}

func TestB291_APreviewGrowsIntoItsAnswer(t *testing.T) {
	for _, native := range []bool{true, false} {
		r := stream(t, native, nil)
		require.Equal(t, time.Second, r.s.PreviewEvery(address("c", "")))
		p := r.post(preview("It"))[0]
		require.Equal(t, []string{"It..."}, r.platform.seen())
		r.s.Show(address("c", ""), p, "It is")
		r.quiet()
		require.Equal(t, []string{"It..."}, r.platform.seen(), "one change a second")
		r.advance(time.Second)
		require.Equal(t, []string{"It is..."}, r.platform.seen())

		row := answer("It is done.", p)
		row.Tells = []string{"run"}
		id := r.post(row)[0]
		require.Equal(t, []string{"It is done."}, r.platform.seen())
		require.Equal(t, []int64{id}, r.sent, "only the answer tells")
		require.Equal(t, []string{"m1"}, r.receipts(id))
		require.Equal(t, store.OutSent, r.row(id).State)
		require.Equal(t, store.OutWithdrawn, r.row(p).State)

		r.s.Show(address("c", ""), p, "a turn that does not know")
		r.advance(time.Minute)
		require.Equal(t, []string{"It is done."}, r.platform.seen())
		require.Len(t, r.platform.calls, 1)
	}
}

func TestB287_SupersededEditsAreDropped(t *testing.T) {
	r := stream(t, true, nil)
	p := r.post(preview("0"))[0]
	for n := range 40 {
		r.s.Show(address("c", ""), p, fmt.Sprint(n))
		r.advance(50 * time.Millisecond)
	}
	r.advance(5 * time.Second)
	require.Equal(t, []string{"m1 19", "m1 39"}, r.platform.edited())
}

func TestB289_OneDraftAndTheFurtherParts(t *testing.T) {
	r := stream(t, false, func(o *Options) { o.Split = eachLine })
	p := r.post(preview("1\n2"))[0]
	require.Equal(t, []string{"1..."}, r.platform.seen(), "the first part only")
	r.s.Show(address("c", ""), p, "1\n2\n3")
	r.advance(time.Second)
	require.Equal(t, []string{"1..."}, r.platform.seen())
	id := r.post(answer("1!\n2\n3", p))[0]
	require.Equal(t, []string{"1!", "2", "3"}, r.platform.seen())
	require.Equal(t, []string{"m1", "m2", "m3"}, r.receipts(id))
}

func TestWhereNothingIsShownBeforeItIsWhole(t *testing.T) {
	off := false
	r := stream(t, true, func(o *Options) { o.Stream = func(_, _ string, preset bool) bool { return preset && !off } })
	require.NotZero(t, r.s.PreviewEvery(address("c", "")))
	require.Zero(t, r.s.PreviewEvery(core.Address{Channel: "fake", Account: "other", Conversation: "c"}))
	off = true
	require.Zero(t, r.s.PreviewEvery(address("c", "")))
	off, r.platform.every = false, 0
	r.restart()
	require.Zero(t, r.s.PreviewEvery(address("c", "")))
}

func TestAnEditThatIsRefused(t *testing.T) {
	deleted := func(r *rig) { r.platform.posts[0].Text = "" }
	tests := []struct {
		name  string
		fault fault
		times int
		harm  func(*rig)
		wait  time.Duration
		calls int // of Send
	}{
		{name: "too old", fault: fault{class: core.SendInvalid}, times: 1, calls: 2},
		{name: "gone", fault: fault{class: core.SendGone}, times: 1, calls: 2},
		{name: "deleted", harm: deleted, calls: 2},
		{name: "429", fault: fault{class: core.SendRetryable, after: 7 * time.Second}, times: 2, wait: 14 * time.Second, calls: 1},
		{name: "answer lost", fault: fault{class: core.SendAmbiguous, effect: true}, times: 1, wait: 20 * time.Second, calls: 1},
		{name: "request lost", fault: fault{class: core.SendAmbiguous}, times: 1, wait: 20 * time.Second, calls: 1},
	}
	for _, tt := range tests {
		for _, native := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s native=%v", tt.name, native), func(t *testing.T) {
				r := stream(t, native, nil)
				p := r.post(preview("It"))[0]
				if tt.harm != nil {
					tt.harm(r)
				}
				r.platform.edit = func(_ string, call int) fault {
					if call <= tt.times {
						return tt.fault
					}
					return fault{}
				}
				id := r.post(answer("It is done.", p))[0]
				if tt.wait > 0 {
					require.Equal(t, store.OutQueued, r.row(id).State)
					r.advance(tt.wait)
				}
				require.Equal(t, []string{"It is done."}, r.platform.seen())
				require.Equal(t, store.OutSent, r.row(id).State)
				require.Len(t, r.platform.calls, tt.calls)
				require.Empty(t, r.givenUp())
				require.Equal(t, store.OutWithdrawn, r.row(p).State)
			})
		}
	}
}

func TestAPreviewThatIsRefusedCostsNothing(t *testing.T) {
	for _, class := range []core.SendClass{core.SendRetryable, core.SendInvalid, core.SendForbidden, core.SendAuth} {
		r := stream(t, true, nil)
		r.platform.setScript(first(1, fault{class: class, after: time.Hour}))
		p := r.post(preview("It"))[0]
		r.s.Show(address("c", ""), p, "It is")
		r.advance(time.Second)
		r.post(answer("It is done.", p))
		require.Equal(t, []string{"It is done."}, r.platform.seen())
		require.Empty(t, r.givenUp(), "nobody misses a preview")
		require.Empty(t, r.platform.edited())
	}
}

func TestAPreviewInDoubtIsFoundBeforeItsAnswer(t *testing.T) {
	r := stream(t, true, nil)
	r.platform.setScript(first(1, fault{class: core.SendAmbiguous, effect: true}))
	p := r.post(preview("It"))[0]
	r.post(answer("It is done.", p))
	r.advance(5 * time.Second)
	require.Equal(t, []string{"It is done."}, r.platform.seen())
}

func TestAnEditOnItsWayComesBeforeTheAnswer(t *testing.T) {
	r := stream(t, true, nil)
	p := r.post(preview("It"))[0]
	r.platform.edit = func(_ string, call int) fault {
		if call == 1 {
			return fault{slow: 5 * time.Second}
		}
		return fault{}
	}
	began := r.clock.Now()
	r.s.Show(address("c", ""), p, "It is")
	r.advance(2 * time.Second)
	r.write(answer("It is done.", p))
	r.advance(4 * time.Second)
	require.Equal(t, 6*time.Second, r.clock.Now().Sub(began))
	require.Equal(t, []string{"m1 It is", "m1 It is done."}, r.platform.edited())
}

func TestWhatNothingReplacesGoes(t *testing.T) {
	t.Run("dropped", func(t *testing.T) {
		r := stream(t, true, nil)
		p := r.post(preview("It"))[0]
		r.drop(p)
		r.drop(p)
		require.Empty(t, r.platform.seen())
		require.Equal(t, store.OutWithdrawn, r.row(p).State)
		require.Empty(t, r.sent)
	})
	t.Run("dropped while the platform is down", func(t *testing.T) {
		r := stream(t, true, nil)
		p := r.post(preview("It"))[0]
		r.platform.edit = func(_ string, call int) fault {
			if call < 4 {
				return fault{class: core.SendRetryable}
			}
			return fault{}
		}
		r.drop(p)
		r.post(message("another"))
		require.Equal(t, []string{"It...", "another"}, r.platform.seen(), "nothing waits for a removal")
		r.advance(time.Minute)
		require.Equal(t, []string{"another"}, r.platform.seen())
	})
	t.Run("claimed", func(t *testing.T) {
		r := stream(t, true, nil)
		p := r.post(preview("It"))[0]
		r.post(answer("It is done.", p))
		r.drop(p)
		require.Equal(t, []string{"It is done."}, r.platform.seen())
	})
	t.Run("withdrawn answer", func(t *testing.T) {
		r := stream(t, true, nil)
		row := preview("It")
		row.Session = 7
		p := r.post(row)[0]
		r.platform.edit = func(_ string, call int) fault {
			if call == 1 {
				return fault{class: core.SendRetryable}
			}
			return fault{}
		}
		row = answer("It is done.", p)
		row.Session = 7
		r.post(row)
		require.NoError(t, r.tx(func(tx *store.Tx) error { _, err := r.s.Withdraw(tx, 7); return err }))
		r.advance(time.Hour)
		require.Empty(t, r.platform.seen())
	})
	t.Run("stopped turn", func(t *testing.T) {
		r := stream(t, true, nil)
		row := preview("It")
		row.Session = 7
		r.post(row)
		require.NoError(t, r.tx(func(tx *store.Tx) error { _, err := r.s.Withdraw(tx, 7); return err }))
		r.quiet()
		require.Empty(t, r.platform.seen())
	})
	t.Run("answer given up", func(t *testing.T) {
		r := stream(t, true, nil)
		p := r.post(preview("It"))[0]
		r.platform.setScript(always(fault{class: core.SendInvalid}))
		r.platform.edit = func(_ string, call int) fault {
			if call == 1 {
				return fault{class: core.SendInvalid}
			}
			return fault{}
		}
		id := r.post(answer("It is done.", p))[0]
		require.Equal(t, store.OutFailed, r.row(id).State)
		require.Len(t, r.givenUp(), 1)
		require.Empty(t, r.platform.seen())
	})
	t.Run("answer elsewhere", func(t *testing.T) {
		r := stream(t, true, nil)
		p := r.post(preview("It"))[0]
		row := answer("It is done.", p)
		row.Address = address("d", "")
		r.post(row)
		require.Equal(t, []string{"It is done."}, r.platform.seen())
	})
}

// A kill at every pass of every crash point of a streamed answer: whatever the
// process that continues the turn finds, people see the answer once and no half
// message beside it.
func TestAKillLeavesNoHalfMessage(t *testing.T) {
	for _, native := range []bool{true, false} {
		passes := 0
		for n := 1; ; n++ {
			r := stream(t, native, func(o *Options) { o.Split = eachLine })
			at, posts := "", 0
			r.world.Arm(world.AnyPoint, n, world.TrapCut, func(name string) {
				at, posts = name, len(r.platform.posts)
			})
			fired := func() bool { return r.world.Err() != nil }
			p := streamed(t, r, fired)
			if !fired() {
				break
			}
			passes++
			edits := len(r.platform.edited())
			r.restart()
			resumeStream(t, r, p)
			r.advance(time.Hour)
			seen := r.platform.seen()
			if !native && at == world.OutboxAfterSend { // such a platform cannot be asked what it did
				if posts == 1 && edits == 0 && len(seen) == 3 {
					require.Equal(t, "It...", seen[0])
					seen = seen[1:]
				}
				seen = slices.Compact(seen)
			}
			require.Equal(t, []string{"It is done.", "Bye."}, seen, "pass %d, killed at %s", n, at)
		}
		require.Greater(t, passes, 8)
	}
}

// streamed plays a turn that streams its answer until the world is cut.
func streamed(t *testing.T, r *rig, cut func() bool) (p int64) {
	t.Helper()
	row := preview("It")
	row.Session = 7
	ids, err := tryPost(r, row)
	if err != nil {
		return 0
	}
	r.quiet()
	for _, text := range []string{"It is", "It is do"} {
		if !cut() {
			r.s.Show(address("c", ""), ids, text)
			r.advance(time.Second)
		}
	}
	row = answer("It is done.\nBye.", ids)
	row.Session, row.OnceKey = 7, "end"
	_, _ = tryPost(r, row)
	r.quiet()
	return ids
}

// resumeStream plays what the turn does when it is claimed again.
func resumeStream(t *testing.T, r *rig, p int64) {
	t.Helper()
	var open []store.Outbox
	require.NoError(t, r.tx(func(tx *store.Tx) (err error) { open, err = tx.OpenPreviews(7); return err }))
	row := answer("It is done.\nBye.", 0)
	row.Session, row.OnceKey = 7, "end"
	if len(open) > 0 {
		require.Equal(t, p, open[0].ID)
		row.Preview = p
	}
	_, err := tryPost(r, row)
	require.NoError(t, err)
	r.quiet()
}

func tryPost(r *rig, row store.Outbox) (id int64, err error) {
	err = r.tx(func(tx *store.Tx) (err error) {
		id, _, err = r.s.Post(tx, row)
		return err
	})
	return id, err
}

// Whatever an answer is made of and wherever it is cut: what is shown of a part
// of it holds no tag, mark, secret or silence token, and the answer begins with
// it.
func TestPartsOfAnAnswerAreSafe(t *testing.T) {
	s := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }})
	pieces := []string{
		"Hello", " ", "\n\n", "NO_REPLY", "no_reply", "ANNOUNCE_SKIP", "<think>", "</think>", "hmm secret thoughts ", "<tool_call>", "</tool_call>",
		"{\"a\":1}", "<|im_end|>", "[skein:event", "[skein:end]", "]", "[", "<", "hunter2", "`", "```\n", "a < b", "日本語。", "é", "x>y", "**bold** ",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		shown := s.Partial(text[:cut])
		if shown == "" {
			return
		}
		for i := range len(shown) {
			_, tag := parseTag(shown, i)
			if tag {
				t.Fatalf("%q shows %q", text[:cut], shown)
			}
			if shown[i] == '[' {
				if _, mark := parseMark(shown, i); mark {
					t.Fatalf("%q shows %q", text[:cut], shown)
				}
			}
		}
		require.NotContains(t, shown, "hunter2")
		require.Equal(t, shown, Gate(shown))
		require.NotContains(t, []string{"no_reply", "announce_skip"}, strings.ToLower(shown))
		if whole := s.gate(text); !strings.Contains(text, "</think>") && !strings.HasPrefix(letters(whole), letters(strings.ToValidUTF8(shown, ""))) {
			t.Fatalf("%q is shown of %q", shown, whole)
		}
	})
}

// letters is a text without white space, which the gate may change.
func letters(text string) string { return strings.Join(strings.Fields(text), "") }

func TestPartial(t *testing.T) {
	s := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }})
	for text, want := range map[string]string{
		"Hello wor":                         "Hello",
		"Hello world ":                      "Hello world",
		"NO_REP":                            "",
		"NO_REPLY ":                         "",
		"NO_REPLY is a word that ":          "NO_REPLY is a word that",
		"the key is hunt":                   "the key is",
		"the key is hunter2 ":               "the key is [redacted]",
		"<think>I wonder ":                  "",
		"<think>I wonder</think>Well then ": "Well then",
		"Well <tool_call>{} ":               "Well",
		"Well <tool ":                       "Well",
		"Well [skein:event x] and ":         "Well",
		"Well [ ske":                        "Well",
		"Well [a link](x) ":                 "Well [a link](x)",
		"if a < b then ":                    "if a < b then",
		"日本語は":                              "日本語は",
	} {
		require.Equal(t, want, s.Partial(text), text)
	}
}

func TestAPanicOfAnEditCostsNoLife(t *testing.T) {
	r := stream(t, true, nil)
	p := r.post(preview("It"))[0]
	r.platform.edit = func(string, int) fault { return fault{panics: true} }
	r.s.Show(address("c", ""), p, "It is")
	r.advance(time.Second)
	require.Equal(t, []string{"It..."}, r.platform.seen())
}
