package examples

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// foreign are the API groups of what is installed beside the provider, and of targets that are more than a Kubernetes
// cluster. The server of this test does not serve them.
var foreign = map[string]bool{
	"pkg.crossplane.io": true, "apis.kcp.io": true, "tenancy.kcp.io": true, "operators.coreos.com": true,
	"charts.helm.k8s.io":          true,
	"apiextensions.crossplane.io": true, "meta.pkg.crossplane.io": true, "monitoring.coreos.com": true,
	"capabilities.morningspace.io": true, "capabilities.m.morningspace.io": true, "cert-manager.io": true,
	"platform.example.org": true, "kustomize.toolkit.fluxcd.io": true,
}

var server = &kube.Server{Shared: "control"}

func TestMain(m *testing.M) { os.Exit(kube.Run(m, server)) }

// TestExamples shows that each file beside this one is accepted, and so is what its Objects would make on a target.
func TestExamples(t *testing.T) {
	c := prepared(t)
	files := find(t, ".", ".yaml")
	if len(files) == 0 {
		t.Fatal("there are no examples")
	}
	for _, f := range files {
		t.Run(f, func(t *testing.T) {
			if n := accept(t, c, []byte(read(t, f))); n == 0 {
				t.Error("the file holds no resource")
			}
		})
	}
}

var fence = regexp.MustCompile("(?ms)^```(yaml|sh)\n(.*?)^```")

// opening is where a block of YAML begins, however it is written.
var opening = regexp.MustCompile("(?mi)^[ >]*(```|~~~) *ya?ml")

// inline is a document inside of a shell command.
var inline = regexp.MustCompile(`(?ms)<<END\n(.*?)^END$`)

// TestGuides shows that each YAML of the guides and the README is accepted, and so is what its Objects would make on a
// target.
func TestGuides(t *testing.T) {
	c := prepared(t)
	for _, f := range append(find(t, "../docs", ".md"), "../README.md") {
		t.Run(filepath.Base(f), func(t *testing.T) {
			content, seen := read(t, f), 0
			for _, block := range fence.FindAllStringSubmatch(content, -1) {
				if block[1] == "yaml" {
					accept(t, c, []byte(block[2]))
					seen++
					continue
				}
				for _, doc := range inline.FindAllStringSubmatch(block[2], -1) {
					accept(t, c, []byte(doc[1]))
				}
			}
			if want := len(opening.FindAllString(content, -1)); seen != want {
				t.Errorf("blocks of YAML: want all %d to be tried, got %d", want, seen)
			}
		})
	}
}

// prepared returns a client of the server with our CustomResourceDefinitions.
func prepared(t *testing.T) client.Client {
	t.Helper()
	server.InstallCRDs(t, "../package/crds")
	return server.Client(t)
}

func find(t *testing.T, dir, ext string) []string {
	t.Helper()
	var files []string
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ext {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// accept asks the server whether it would create each resource of a file, and returns how many there are.
func accept(t *testing.T, c client.Client, content []byte) int {
	t.Helper()
	n := 0
	for _, u := range resourcesIn(t, content) {
		if isStatus(u) {
			continue
		}
		n++
		if foreign[u.GroupVersionKind().Group] {
			continue
		}
		ensureNamespace(t, c, u.GetNamespace())
		err := c.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Errorf("the server refuses %s %q: %v", u.GetKind(), u.GetName(), err)
		}
		acceptManifest(t, c, u)
		acceptRules(t, u)
	}
	return n
}

// isStatus reports whether a document only shows what a status is like, which nobody applies.
func isStatus(u *unstructured.Unstructured) bool {
	_, ok := u.Object["status"]
	return ok && len(u.Object) == 1
}

// ensureNamespace makes a namespace that a resource needs.
func ensureNamespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	if name == "" {
		return
	}
	err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// manifestOf returns the manifest that an Object would create as it stands, with the name it would have. It is nil for
// anything else: what is only observed need not be whole, and what references complete is not.
func manifestOf(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u.GetKind() != "Object" || !creates(u) {
		return nil
	}
	if refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "references"); len(refs) > 0 {
		return nil
	}
	content, _, _ := unstructured.NestedMap(u.Object, "spec", "forProvider", "manifest")
	m := &unstructured.Unstructured{Object: content}
	if m.GetName() == "" {
		m.SetName(u.GetName())
	}
	return m
}

// creates reports whether an Object may create its resource.
func creates(u *unstructured.Unstructured) bool {
	word, _, _ := unstructured.NestedString(u.Object, "spec", "managementPolicy")
	actions, found, _ := unstructured.NestedStringSlice(u.Object, "spec", "managementPolicies")
	if word == "Observe" || word == "ObserveDelete" {
		return false
	}
	return !found || slices.Contains(actions, "*") || slices.Contains(actions, "Create")
}

// acceptManifest asks the server whether it would create the manifest of an Object.
func acceptManifest(t *testing.T, c client.Client, u *unstructured.Unstructured) {
	t.Helper()
	m := manifestOf(u)
	if m == nil || foreign[m.GroupVersionKind().Group] {
		return
	}
	ensureNamespace(t, c, m.GetNamespace())
	err := c.Create(t.Context(), m, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Errorf("a target refuses the manifest of Object %q, %s %q: %v", u.GetName(), m.GetKind(), m.GetName(), err)
	}
}

// resourcesIn returns the resources in the content of a file.
func resourcesIn(t *testing.T, content []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("cannot parse: %v\n%s", err, content)
		}
		if len(u.Object) > 0 {
			all = append(all, u)
		}
	}
}

// TestShownFiles shows that each YAML of some guides is that of a file, which their commands apply.
func TestShownFiles(t *testing.T) {
	for guide, folder := range map[string]string{"platform.md": "platform", "quickstart.md": "quickstart"} {
		files := map[string]map[string]any{}
		for _, f := range find(t, folder, ".yaml") {
			for _, u := range resourcesIn(t, []byte(read(t, f))) {
				files[u.GetKind()+" "+u.GetName()] = u.Object
			}
		}
		shown := 0
		for _, block := range fence.FindAllStringSubmatch(read(t, "../docs/"+guide), -1) {
			if block[1] != "yaml" {
				continue
			}
			for _, u := range resourcesIn(t, []byte(block[2])) {
				shown++
				if diff := cmp.Diff(files[u.GetKind()+" "+u.GetName()], u.Object); diff != "" {
					t.Errorf("%s %s: -in examples/%s, +in %s:\n%s", u.GetKind(), u.GetName(), folder, guide, diff)
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s shows no YAML", guide)
		}
	}
}
