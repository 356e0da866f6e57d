package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

func channelsCommand(e *env) *cobra.Command {
	return family("channels", "Channels: the accounts and how they are", func() *cobra.Command { return channelsStatus(e) })
}

func channelsStatus(e *env) *cobra.Command {
	return query[[]app.ChannelView]{
		use: "status", short: "Show the accounts of the channels", args: cobra.NoArgs,
		ask: func([]string) (string, url.Values) { return "/channels", nil },
		show: func(p printer, list []app.ChannelView) {
			rows := make([][]cell, len(list))
			for i, c := range list {
				rows[i] = []cell{
					plainCell("%s", c.Channel), plainCell("%s", c.Account), stateCell(c.State), plainCell("%s", p.time(c.Since)),
					plainCell("%d", c.Open), plainCell("%d", c.Sent), plainCell("%d", c.Failed+c.Blocked+c.Ambiguous),
					{firstLine(c.LastError), moodBad},
				}
			}
			p.table("no channels are configured", []string{"CHANNEL", "ACCOUNT", "STATE", "SINCE", "OPEN", "SENT", "GIVEN UP", "LAST ERROR"}, rows)
		},
	}.command(e)
}
