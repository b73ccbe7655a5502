package provenance_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// fields are those of the tests: Cluster is assigned, Copy the unique name of a copy, and all others are entered.
func fields(path ...string) provenance.Value {
	switch strings.Join(path, ".") {
	case "Cluster":
		return provenance.Assigned
	case "Copy":
		return provenance.Value{Source: provenance.Hash, Unique: true}
	}
	return provenance.Entered
}

func TestTemplate(t *testing.T) {
	const (
		fixed    = "fixed"
		assigned = "assigned" // by the provider, and unique
		hash     = "hash"
		own      = "own" // of a hash or of the consumer, and unique
		entered  = "entered"
	)
	for text, tc := range map[string]struct {
		reason string
		want   string
	}{
		`made`:                             {reason: "A constant is the provider's.", want: fixed},
		`{{ "made" }}{{/* x */}}{{ 7 }}`:   {reason: "However it is written.", want: fixed},
		`{{ .Cluster }}`:                   {reason: "So is what a server has assigned.", want: assigned},
		`a-{{ .Cluster }}-b`:               {reason: "Between constants it stays unique.", want: assigned},
		`{{ .name }}`:                      {reason: "A field is the consumer's.", want: entered},
		`{{ .Copy }}-{{ .name }}`:          {reason: "A name with dashes may be continued by the consumer.", want: entered},
		`{{ .Copy }}-tls`:                  {reason: "A constant continues it for all.", want: own},
		`{{ .Cluster }}-{{ .name }}`:       {reason: "The consumer's part cannot move what stands first.", want: own},
		`{{ .name }}-{{ .Cluster }}`:       {reason: "Nor what stands last.", want: own},
		`{{ .a }}-{{ .Cluster }}-{{ .b }}`: {reason: "In the middle it can be moved.", want: entered},
		`{{ .Cluster }}{{ .name }}`:        {reason: "Without a delimiter nobody knows where it ends.", want: entered},
		`x{{ .Cluster }}y{{ .name }}`:      {reason: "A letter is no delimiter.", want: entered},
		`{{ .name | sha3short }}`:          {reason: "Nobody aims at a hash.", want: hash},
		`{{ sha3short .name }}-{{ .Copy }}`: {
			reason: "A name with dashes is not moved by a hash of one length, but that is not known.",
			want:   hash,
		},
		`{{ sha3short .name 2 }}`:             {reason: "Two digits can be aimed at.", want: entered},
		`{{ .name | sha3short | trunc 2 }}`:   {reason: "However they are left over.", want: entered},
		`{{ .Cluster | trunc 2 }}`:            {reason: "Two digits of a cluster are not unique.", want: fixed},
		`{{ printf "%s-%s" .Cluster .name }}`: {reason: "A format inserts what it is given.", want: own},
		`{{ printf "%.2s-x" .Cluster }}`:      {reason: "Unless it cuts it.", want: fixed},
		`{{ if .name }}a{{ else }}b{{ end }}`: {
			reason: "Who decides on the condition decides between constants.",
			want:   entered,
		},
		`{{ if .Cluster }}a{{ else }}b{{ end }}`: {reason: "That may be the provider.", want: fixed},
		`{{ if eq .Side "kcp" }}{{ .name }}{{ else }}b{{ end }}`: {
			reason: "Only the branch of this side counts.",
			want:   fixed,
		},
		`{{ range .list }}a{{ end }}`:         {reason: "A loop is not understood.", want: entered},
		`{{ with .Cluster }}{{ . }}{{ end }}`: {reason: "Nor another dot.", want: entered},
		`{{ $n := .name }}{{ $n }}`:           {reason: "Nor a variable.", want: entered},
		`{{ $.Cluster }}`:                     {reason: "But that of the whole.", want: assigned},
		`{{ `:                                 {reason: "Nor what is no template.", want: entered},
	} {
		t.Run(text, func(t *testing.T) {
			got := provenance.Parse(text).Value(provenance.Context{Of: fields, Side: "service"})
			is := map[provenance.Source]string{
				provenance.Provider: fixed, provenance.Hash: hash, provenance.Consumer: entered,
			}[got.Source]
			if got.Unique {
				is = own
				if got.Source == provenance.Provider {
					is = assigned
				}
			}
			if diff := cmp.Diff(tc.want, is); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s%+v", tc.reason, diff, got)
			}
		})
	}
}
