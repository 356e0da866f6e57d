package threadbind

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func (f *fixture) unfocus(at core.Address, actor Actor) (b core.Binding, err error) {
	_, err = f.try(func(tx Tx) (c Changes, err error) {
		b, c, err = f.service.Unfocus(tx, at, actor, f.now)
		return c, err
	})
	return b, err
}

func TestRights(t *testing.T) {
	limit := hours(2)
	commands := map[string]func(f *fixture, actor Actor) error{
		"unfocus": func(f *fixture, actor Actor) error { _, err := f.unfocus(team, actor); return err },
		"idle": func(f *fixture, actor Actor) error {
			_, err := f.try(func(tx Tx) (Changes, error) {
				_, c, err := f.service.SetIdle(tx, team, actor, &limit, f.now)
				return c, err
			})
			return err
		},
		"max-age": func(f *fixture, actor Actor) error {
			_, err := f.try(func(tx Tx) (Changes, error) {
				_, c, err := f.service.SetMaxAge(tx, team, actor, &limit, f.now)
				return c, err
			})
			return err
		},
	}
	actors := map[string]struct {
		actor    Actor
		code     string
		override bool
	}{
		"owner":                     {alice, "", false},
		"operator":                  {boss, "", true},
		"operator who is the owner": {Actor{User: alice.User, Operator: true}, "", false},
		"somebody":                  {bob, CodeNotOwner, false},
		"nobody":                    {Actor{}, CodeNotOwner, false},
		"operator without an id":    {Actor{Operator: true}, CodeNotOwner, false},
	}
	for command, run := range commands {
		for who, tt := range actors {
			t.Run(command+" by "+who, func(t *testing.T) {
				f := newFixture(t)
				b := f.focus(team, nil)
				before := f.binding(b.ID)
				err := run(f, tt.actor)
				require.Equal(t, tt.code, core.ErrorCode(err))
				require.Equal(t, tt.override, strings.Contains(f.logged.String(), "overrides the owner"))
				if tt.code != "" {
					require.Equal(t, before, f.binding(b.ID))
				} else {
					require.NotEqual(t, before, f.binding(b.ID))
				}
			})
		}
	}
}

func TestABindingOfNobodyIsForOperators(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	b := f.binding("b001")
	b.Owner = ""
	f.store.bindings[b.ID] = b
	for _, actor := range []Actor{alice, {}} {
		_, err := f.unfocus(team, actor)
		require.Equal(t, CodeNotOwner, core.ErrorCode(err))
	}
	_, err := f.unfocus(team, boss)
	require.NoError(t, err)
}

func TestUnfocus(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	b, err := f.unfocus(team, alice)
	require.NoError(t, err)
	require.Equal(t, core.EndManual, b.Reason)
	require.Equal(t, []string{"intro " + team.String(), "farewell " + team.String()}, f.posted(), "the farewell is the answer")
	require.False(t, f.resolve(team).Found)
	_, err = f.unfocus(team, alice)
	require.Equal(t, CodeNotFocused, core.ErrorCode(err))
}

func TestNotFocused(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	_, err := f.unfocus(team.InThread("T1"), alice)
	require.Equal(t, CodeNotFocused, core.ErrorCode(err))
	require.ErrorContains(t, err, "no binding of its own")

	f.set.Enabled = false
	_, err = f.unfocus(core.Address{Channel: "fake", Account: "default", Conversation: "Other"}, alice)
	require.Equal(t, CodeBindingsDisabled, core.ErrorCode(err))
	_, err = f.unfocus(team, alice)
	require.NoError(t, err, "what is bound can be left")
}

func TestCommandsOnAnExpiredBinding(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	f.wait(24)
	_, err := f.unfocus(team, alice)
	require.Equal(t, CodeNotFocused, core.ErrorCode(err))
	require.Equal(t, core.EndIdle, f.binding(b.ID).Reason, "the record says what happened")
}

func TestSetLimits(t *testing.T) {
	f := newFixture(t)
	f.set.MaxAge = hours(100)
	b := f.focus(team, nil)
	f.wait(5)
	set := func(do func(Tx, core.Address, Actor, *time.Duration, core.Millis) (View, Changes, error), limit *time.Duration) (v View, c Changes) {
		c = f.tx(func(tx Tx) (c Changes, err error) {
			v, c, err = do(tx, team, alice, limit, f.now)
			return c, err
		})
		return v, c
	}
	minute, day, off, hour := time.Minute, hours(24), time.Duration(0), time.Hour

	v, c := set(f.service.SetIdle, &minute)
	require.Equal(t, f.now.Add(minute), v.Next, "counted from the command, which is a message there")
	require.Equal(t, core.EndIdle, v.Reason)
	require.Equal(t, v.Next, c.Wake, "whoever sleeps must wake earlier")
	require.Equal(t, minute, v.Limits.Idle)

	v, _ = set(f.service.SetIdle, &off)
	require.Equal(t, t0.Add(hours(100)), v.Next)
	require.Equal(t, core.EndMaxAge, v.Reason)
	v, _ = set(f.service.SetMaxAge, &off)
	require.Zero(t, v.Next)
	v, _ = set(f.service.SetIdle, nil)
	require.Equal(t, f.now.Add(day), v.Next, "back to the configured limit")

	v, c = set(f.service.SetMaxAge, &hour)
	require.Equal(t, core.EndMaxAge, v.Binding.Reason, "it is older than that")
	require.Len(t, c.Ended, 1)
	require.Equal(t, core.BindingEnded, f.binding(b.ID).Status)
}

func TestShow(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	f.wait(1)
	var v View
	f.tx(func(tx Tx) (c Changes, err error) {
		v, c, err = f.service.Show(tx, team, f.now)
		return c, err
	})
	require.Equal(t, t0.Add(hours(24)), v.Next)
	require.Equal(t, Limits{Idle: hours(24)}, v.Limits)
	require.Equal(t, t0, f.binding(v.Binding.ID).LastActivity, "looking is not activity")
	f.refused(CodeNotFocused, func(tx Tx) (Changes, error) {
		_, c, err := f.service.Show(tx, team.InThread("T1"), f.now)
		return c, err
	})

	f.work(sessionCats, true, 0)
	f.tx(func(tx Tx) (c Changes, err error) {
		v, c, err = f.service.Show(tx, team, f.now)
		return c, err
	})
	require.True(t, v.Busy)
	require.Zero(t, v.Next)
}

func TestEndByID(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	end := func(id string) (ended bool) {
		f.tx(func(tx Tx) (c Changes, err error) {
			ended, c, err = f.service.End(tx, id, core.EndManual, f.now)
			return c, err
		})
		return ended
	}
	require.True(t, end(b.ID))
	require.False(t, end(b.ID))
	require.False(t, end("zz"))
}
