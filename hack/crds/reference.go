package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed reference.tmpl
var referenceTemplate string

// A page of the reference has the fields of kinds. The forms of one kind, which have most fields in common, share its
// tables: a row that not all of them have names those that have it.
type page struct {
	File, Title string
	Explained   string // the page beside the folder that says what no single field can
	Kinds       []kind
}

type kind struct {
	Name     string
	Text     string
	Rules    []row // of the whole resource, as meanings
	Forms    []form
	Sections []section

	files []string // of the definitions of its forms, without their ending
}

// A form is one version of one definition. Versions of one definition have the same label.
type form struct {
	Label, APIVersion, Kind, Version, Names string
	Deprecated                              bool

	schema *apiextensionsv1.JSONSchemaProps
}

type section struct {
	Title string
	Rows  []row
}

type row struct {
	Path, Type, Default, Rules, Meaning string
	Only                                string // the forms that have it, unless all have

	forms []int
}

// pages are the pages of the reference.
func pages() []page {
	const cluster, namespaced, workload = "kubernetes.crossplane.io_", "kubernetes.m.crossplane.io_",
		"workload.crossplane.io_"
	return []page{
		{"object.md", "Fields of Object", "object.md", []kind{
			{Name: "Object", files: []string{cluster + "objects", namespaced + "objects"}},
		}},
		{"observedobjectcollection.md", "Fields of ObservedObjectCollection", "observedobjectcollection.md", []kind{
			{
				Name:  "ObservedObjectCollection",
				files: []string{cluster + "observedobjectcollections", namespaced + "observedobjectcollections"},
			},
		}},
		{
			"kubernetesapplication.md", "Fields of KubernetesApplication and KubernetesApplicationResource",
			"kubernetesapplication.md",
			[]kind{
				{Name: "KubernetesApplication", files: []string{workload + "kubernetesapplications"}},
				{Name: "KubernetesApplicationResource", files: []string{workload + "kubernetesapplicationresources"}},
			},
		},
		{"providerconfig.md", "Fields of ProviderConfig and ClusterProviderConfig", "providerconfig.md", []kind{
			{Name: "ProviderConfig", files: []string{
				cluster + "providerconfigs", namespaced + "providerconfigs", namespaced + "clusterproviderconfigs",
			}},
		}},
		{"providerconfigusage.md", "Fields of ProviderConfigUsage", "providerconfig.md", []kind{
			{
				Name:  "ProviderConfigUsage",
				files: []string{cluster + "providerconfigusages", namespaced + "providerconfigusages"},
			},
		}},
		{"publishedresource.md", "Fields of PublishedResource", "publishedresource.md", []kind{
			{Name: "PublishedResource", files: []string{"syncagent.kcp.io_publishedresources"}},
		}},
	}
}

// writeReference writes pages into a folder from the definitions in another one. Each definition must be on a page.
func writeReference(dir, definitions string, pages []page) error {
	t, err := template.New("reference").Parse(referenceTemplate)
	if err != nil {
		return errors.Wrap(err, "cannot read the template")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return errors.Wrap(err, "cannot make the folder")
	}
	left, err := filepath.Glob(filepath.Join(definitions, "*.yaml"))
	if err != nil {
		return errors.Wrap(err, "cannot list the definitions")
	}
	for _, p := range pages {
		for i := range p.Kinds {
			k := &p.Kinds[i]
			for _, name := range k.files {
				file := filepath.Join(definitions, name+".yaml")
				left = slices.DeleteFunc(left, func(f string) bool { return f == file })
				if err := k.add(file); err != nil {
					return errors.Wrap(err, file)
				}
			}
			k.describe()
		}
		var out bytes.Buffer
		if err := t.Execute(&out, p); err != nil {
			return errors.Wrap(err, p.File)
		}
		if err := os.WriteFile(filepath.Join(dir, p.File), out.Bytes(), 0o600); err != nil {
			return errors.Wrap(err, "cannot write")
		}
	}
	if len(left) > 0 {
		return errors.Errorf("no page of the reference has %s", strings.Join(left, ", "))
	}
	return nil
}

// add adds a form for each served version of a definition, the one that is stored first.
func (k *kind) add(file string) error {
	content, err := os.ReadFile(file) //nolint:gosec // See above.
	if err != nil {
		return errors.Wrap(err, "cannot read")
	}
	d := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, d); err != nil {
		return errors.Wrap(err, "cannot decode")
	}
	versions := slices.Clone(d.Spec.Versions)
	order := map[bool]int{false: 1}
	slices.SortStableFunc(versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return order[a.Storage] - order[b.Storage]
	})
	for _, v := range versions {
		if !v.Served {
			continue
		}
		f := form{
			Label: "namespaced", APIVersion: d.Spec.Group + "/" + v.Name, Kind: d.Spec.Names.Kind, Version: v.Name,
			Names:      strings.Join(append([]string{d.Spec.Names.Plural}, d.Spec.Names.ShortNames...), ", "),
			Deprecated: v.Deprecated, schema: v.Schema.OpenAPIV3Schema,
		}
		switch {
		case f.Kind != k.Name:
			f.Label = f.Kind
		case d.Spec.Scope == apiextensionsv1.ClusterScoped:
			f.Label = "cluster-scoped"
		}
		k.Forms = append(k.Forms, f)
	}
	return nil
}

// describe fills in the texts and tables of a kind from its forms.
func (k *kind) describe() {
	k.Text = prose(k.Forms[0].schema.Description)
	parts := map[string][]row{}
	for i, f := range k.Forms {
		for _, r := range validations(f.schema) {
			k.Rules = merge(k.Rules, []row{{Meaning: r}}, i)
		}
		for _, name := range slices.Sorted(maps.Keys(f.schema.Properties)) {
			title := name
			switch name {
			case "apiVersion", "kind", "metadata":
				continue
			case "spec", "status":
			default:
				title = "fields"
			}
			s := f.schema.Properties[name]
			parts[title] = merge(parts[title], rowsOf(name, &s, slices.Contains(f.schema.Required, name)), i)
		}
	}
	k.mark(k.Rules)
	for _, title := range slices.Sorted(maps.Keys(parts)) {
		k.mark(parts[title])
		k.Sections = append(k.Sections, section{strings.ToUpper(title[:1]) + title[1:], parts[title]})
	}
}

// mark names the forms that have a row, if not all have.
func (k *kind) mark(rows []row) {
	for i := range rows {
		if len(rows[i].forms) == len(k.Forms) {
			continue
		}
		var labels []string
		for _, n := range rows[i].forms {
			f := k.Forms[n]
			label := f.Label
			for m, other := range k.Forms {
				if other.Label == f.Label && !slices.Contains(rows[i].forms, m) {
					label = f.Label + " " + f.Version
				}
			}
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
		rows[i].Only = strings.Join(labels, ", ")
	}
}

// merge adds the rows of a form to those of others. Rows are in the order of their paths.
func merge(all, rows []row, form int) []row {
	for _, r := range rows {
		i := slices.IndexFunc(all, func(o row) bool {
			return o.Path == r.Path && o.Type == r.Type && o.Default == r.Default && o.Rules == r.Rules && o.Meaning == r.Meaning
		})
		if i < 0 {
			r.forms = []int{form}
			all = append(all, r)
		} else {
			all[i].forms = append(all[i].forms, form)
		}
	}
	slices.SortStableFunc(all, func(a, b row) int {
		return slices.Compare(strings.Split(a.Path, "."), strings.Split(b.Path, "."))
	})
	return all
}

// rowsOf returns the row of a field, and those of the fields in it.
func rowsOf(path string, s *apiextensionsv1.JSONSchemaProps, required bool) []row {
	r := row{Path: path, Type: typeOf(s), Meaning: prose(s.Description), Rules: strings.Join(rulesOf(s, required), "; ")}
	if s.Default != nil {
		r.Default = "`" + string(s.Default.Raw) + "`"
	}
	rows := []row{r}
	inner, suffix := s, ""
	for done := false; !done; {
		switch {
		case inner.Items != nil && inner.Items.Schema != nil:
			inner, suffix = inner.Items.Schema, suffix+"[]"
		case inner.AdditionalProperties != nil && inner.AdditionalProperties.Schema != nil:
			inner, suffix = inner.AdditionalProperties.Schema, suffix+"{}"
		default:
			done = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inner.Properties)) {
		field := inner.Properties[name]
		rows = append(rows, rowsOf(path+suffix+"."+name, &field, slices.Contains(inner.Required, name))...)
	}
	return rows
}

// typeOf names the type of a field as Go does.
func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "[]" + typeOf(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map[string]" + typeOf(s.AdditionalProperties.Schema)
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "":
		return "any"
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		return s.Type + " (any fields)"
	}
	return s.Type
}

// rulesOf returns what a value of a field must satisfy, and each item of it.
func rulesOf(s *apiextensionsv1.JSONSchemaProps, required bool) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if required {
		add("required")
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		add("one of %s", strings.ReplaceAll(strings.Join(values, ", "), "``", "empty"))
	}
	if s.Pattern != "" {
		add("pattern `%s`", escape(s.Pattern))
	}
	for _, bound := range []struct {
		name  string
		value *int64
	}{
		{"minLength", s.MinLength},
		{"maxLength", s.MaxLength},
		{"minItems", s.MinItems},
		{"maxItems", s.MaxItems},
		{"minProperties", s.MinProperties},
		{"maxProperties", s.MaxProperties},
	} {
		if bound.value != nil {
			add("%s %d", bound.name, *bound.value)
		}
	}
	if s.Minimum != nil {
		add("minimum %g", *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum %g", *s.Maximum)
	}
	if len(s.XListMapKeys) > 0 {
		add("unique %s", strings.Join(s.XListMapKeys, ", "))
	}
	all = append(all, validations(s)...)
	inner := (*apiextensionsv1.JSONSchemaProps)(nil)
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		inner = s.Items.Schema
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		inner = s.AdditionalProperties.Schema
	}
	if inner != nil {
		for _, r := range rulesOf(inner, false) {
			add("each: %s", r)
		}
	}
	return all
}

// validations returns the messages of the CEL rules of a field, and a rule that has none.
func validations(s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, v := range s.XValidations {
		if v.Message == "" {
			all = append(all, "`"+escape(v.Rule)+"`")
			continue
		}
		all = append(all, prose(v.Message))
	}
	return all
}

// prose returns a description as it may be in a cell of a table.
func prose(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(strings.Join(strings.Fields(s), " "))
}

// escape returns code as it may be in a cell of a table.
func escape(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}
