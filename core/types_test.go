package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestMillis(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_999_999, time.UTC)
	m := core.ToMillis(at)
	require.Equal(t, at.Truncate(time.Millisecond), m.Time())
	require.Equal(t, 1500*time.Millisecond, m.Add(1500*time.Millisecond+999*time.Microsecond).Sub(m))
	require.Zero(t, core.ToMillis(time.Time{}))
	require.True(t, core.Millis(0).Time().IsZero())
}

func TestErrors(t *testing.T) {
	cause := errors.New("disk full")
	e := core.Errorf("no_space", "cannot write %q", "x").WithRemedy("free %d MB", 5)
	e.Err = cause
	require.EqualError(t, e, `cannot write "x": disk full (free 5 MB)`)
	require.ErrorIs(t, e, cause)
	require.Equal(t, "no_space", core.ErrorCode(fmt.Errorf("open: %w", e)))
	require.Empty(t, core.ErrorCode(cause))
}

func TestClassifySend(t *testing.T) {
	limited := &core.SendError{Class: core.SendRetryable, RetryAfter: time.Second, Err: errors.New("429")}
	class, after := core.ClassifySend(fmt.Errorf("send: %w", limited))
	require.Equal(t, core.SendRetryable, class)
	require.Equal(t, time.Second, after)
	require.EqualError(t, limited, "retryable: 429")
	require.EqualError(t, &core.SendError{Class: core.SendGone}, "gone")
	class, _ = core.ClassifySend(errors.New("who knows"))
	require.Equal(t, core.SendAmbiguous, class)
	for class, permanent := range map[core.SendClass]bool{
		core.SendRetryable: false, core.SendAmbiguous: false, core.SendGone: true, core.SendClosed: true,
		core.SendForbidden: true, core.SendInvalid: true, core.SendTooLarge: true, core.SendAuth: false, core.SendConflict: false,
	} {
		require.Equal(t, permanent, class.Permanent(), class)
	}
}

func TestEndReason(t *testing.T) {
	for r := core.NotEnded; r <= core.EndSpawnFailed; r++ {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		var back core.EndReason
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, r, back)
	}
	require.Equal(t, "unknown", core.EndReason(99).String())
	var r core.EndReason
	require.ErrorContains(t, json.Unmarshal([]byte(`"tired"`), &r), `unknown end reason "tired"`)
	require.True(t, core.BindingSuspended.Live())
	require.False(t, core.BindingEnded.Live())
	require.False(t, core.BindingStatus("").Live())
}

func TestRunStatus(t *testing.T) {
	for status, want := range map[core.RunStatus]struct {
		task core.TaskStatus
		live bool
	}{
		core.RunQueued: {core.TaskQueued, true}, core.RunRunning: {core.TaskRunning, true}, core.RunWaiting: {core.TaskWaiting, true},
		core.RunOK: {core.TaskSucceeded, false}, core.RunError: {core.TaskFailed, false}, core.RunTimeout: {core.TaskTimedOut, false},
		core.RunCancelled: {core.TaskCancelled, false}, core.RunInterrupted: {core.TaskInterrupted, false}, core.RunBudget: {core.TaskOverBudget, false},
	} {
		require.Equal(t, want.task, status.Task())
		require.Equal(t, want.live, status.Live())
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{" a \n\t b ", 3, "a b"},
		{"ab cd", 3, "ab…"},
		{"éèê", 2, "é…"},
	} {
		require.Equal(t, c.want, core.Clip(c.in, c.n), "%q", c.in)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(1, 20).Draw(t, "n")
		require.LessOrEqual(t, utf8.RuneCountInString(core.Clip(s, n)), n)
	})
	require.Equal(t, "label", core.Run{Label: "label", TaskName: "name", Task: "task"}.Name())
	require.Equal(t, "name", core.Run{TaskName: "name", Task: "task"}.Name())
	require.Equal(t, "the task", core.Run{Task: "the\ntask"}.Name())
}
