package kubelet

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unpack writes the files of the image of a pod to a folder, and returns how it is run.
func (k *Kubelet) unpack(ctx context.Context, p *corev1.Pod, dir string) (v1.Config, error) {
	image := p.Spec.Containers[0].Image
	ref, err := name.ParseReference(image)
	if err != nil {
		return v1.Config{}, errors.Wrapf(err, "cannot parse %q", image)
	}
	user, err := k.credentials(ctx, p, ref.Context().RegistryStr())
	if err != nil {
		return v1.Config{}, err
	}
	img, err := remote.Image(ref, remote.WithAuth(user))
	if err != nil {
		return v1.Config{}, errors.Wrapf(err, "cannot pull %q", image)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return v1.Config{}, errors.Wrap(err, "cannot read configuration of image")
	}
	if len(cf.Config.Entrypoint) != 1 {
		return v1.Config{}, errors.Errorf("want an image that needs no arguments, got entrypoint %v", cf.Config.Entrypoint)
	}
	return cf.Config, extract(img, dir)
}

// credentials returns those that the pull secrets of a pod have for a registry.
func (k *Kubelet) credentials(ctx context.Context, p *corev1.Pod, registry string) (authn.Authenticator, error) {
	for _, pull := range p.Spec.ImagePullSecrets {
		s := &corev1.Secret{}
		if err := k.c.Get(ctx, client.ObjectKey{Namespace: p.GetNamespace(), Name: pull.Name}, s); err != nil {
			return nil, errors.Wrap(err, "cannot get pull secret")
		}
		var config struct {
			Auths map[string]authn.AuthConfig `json:"auths"`
		}
		if err := json.Unmarshal(s.Data[corev1.DockerConfigJsonKey], &config); err != nil {
			return nil, errors.Wrap(err, "cannot parse pull secret")
		}
		if user, ok := config.Auths[registry]; ok {
			return authn.FromConfig(user), nil
		}
	}
	return authn.Anonymous, nil
}

// extract writes the files of an image to a folder.
func extract(img v1.Image, dir string) error {
	files := mutate.Extract(img)
	defer files.Close() //nolint:errcheck // It has been read.
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "cannot read image")
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return errors.Wrap(err, "cannot make folder of image")
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, h.FileInfo().Mode().Perm())
		if err != nil {
			return errors.Wrap(err, "cannot create file of image")
		}
		if _, err := io.Copy(f, r); err != nil {
			return errors.Wrap(err, "cannot write file of image")
		}
		if err := f.Close(); err != nil {
			return errors.Wrap(err, "cannot close file of image")
		}
	}
}
