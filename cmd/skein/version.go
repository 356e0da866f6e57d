package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

// versionView is what `skein version --json` prints.
type versionView struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: does(func(context.Context, []string) error {
			v := versionView{app.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return e.printer().json(v)
			}
			fmt.Fprintf(e.stdout, "skein %s (%s %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
