package provenance_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// fields are those of the tests: Cluster is assigned, Path a path, Copy the unique name of a copy, and all others are entered.
func fields(path ...string) provenance.Value {
	switch strings.Join(path, ".") {
	case "Cluster":
		return provenance.Assigned
	case "Path":
		return provenance.Path
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
		`made`:                                                   {"A constant is the provider's.", fixed},
		`{{ "made" }}{{/* x */}}{{ 7 }}`:                         {"However it is written.", fixed},
		`{{ .Cluster }}`:                                         {"So is what a server has assigned.", assigned},
		`a-{{ .Cluster }}-b`:                                     {"Between constants it stays unique.", assigned},
		`{{ .name }}`:                                            {"A field is the consumer's.", entered},
		`{{ .Copy }}-{{ .name }}`:                                {"A name with dashes may be continued by the consumer.", entered},
		`{{ .Copy }}-tls`:                                        {"A constant continues it for all.", own},
		`{{ .Cluster }}-{{ .name }}`:                             {"The consumer's part cannot move what stands first.", own},
		`{{ .name }}-{{ .Cluster }}`:                             {"Nor what stands last.", own},
		`{{ .a }}-{{ .Cluster }}-{{ .b }}`:                       {"In the middle it can be moved.", entered},
		`{{ .Cluster }}{{ .name }}`:                              {"Without a delimiter nobody knows where it ends.", entered},
		`x{{ .Cluster }}y{{ .name }}`:                            {"A letter is no delimiter.", entered},
		`{{ .name | sha3short }}`:                                {"Nobody aims at a hash.", hash},
		`{{ sha3short .name }}-{{ .Copy }}`:                      {"A name with dashes is not moved by a hash of one length, but that is not known.", hash},
		`{{ sha3short .name 2 }}`:                                {"Two digits can be aimed at.", entered},
		`{{ .name | sha3short | trunc 2 }}`:                      {"However they are left over.", entered},
		`{{ .Cluster | trunc 2 }}`:                               {"Two digits of a cluster are not unique.", fixed},
		`{{ .Path }}`:                                            {"A path is unique, but made of names that consumers choose.", own},
		`{{ .Path | replace ":" "-" }}`:                          {"A flattened path is that of another workspace, too.", entered},
		`{{ .Path | toString | sha3short }}`:                     {"A hashed path is not.", own},
		`{{ printf "%s-%s" .Cluster .name }}`:                    {"A format inserts what it is given.", own},
		`{{ printf "%.2s-x" .Cluster }}`:                         {"Unless it cuts it.", fixed},
		`{{ if .name }}a{{ else }}b{{ end }}`:                    {"Who decides on the condition decides between constants.", entered},
		`{{ if .Cluster }}a{{ else }}b{{ end }}`:                 {"That may be the provider.", fixed},
		`{{ if eq .Side "kcp" }}{{ .name }}{{ else }}b{{ end }}`: {"Only the branch of this side counts.", fixed},
		`{{ range .list }}a{{ end }}`:                            {"A loop is not understood.", entered},
		`{{ with .Cluster }}{{ . }}{{ end }}`:                    {"Nor another dot.", entered},
		`{{ $n := .name }}{{ $n }}`:                              {"Nor a variable.", entered},
		`{{ $.Cluster }}`:                                        {"But that of the whole.", assigned},
		`{{ `:                                                    {"Nor what is no template.", entered},
	} {
		t.Run(text, func(t *testing.T) {
			got := provenance.Parse(text).Value(provenance.Context{Of: fields, Side: "service"})
			is := map[provenance.Source]string{provenance.Provider: fixed, provenance.Hash: hash, provenance.Consumer: entered}[got.Source]
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
