#include "host/scale/picture.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "hw/error.h"
#include "hw/whole_file.h"

namespace tessera::scale {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kGolden = 2.39996322972865332;  // radians from point to point of a sunflower

struct Colour {
  float r = 0, g = 0, b = 0;
};

/// Hues by the golden ratio, so that neighbouring layers differ.
Colour colour_of(std::uint32_t layer) {
  const double hue = std::fmod(0.58 + 0.61803398875 * layer, 1.0) * 6;
  const auto channel = [&](double shift) {
    const double k = std::fmod(shift + hue, 6.0);
    return static_cast<float>(1.0 - 0.78 * std::max(0.0, std::min({k, 4 - k, 1.0})));
  };
  return {channel(5), channel(3), channel(1)};
}

/// Light in a raster, linear.
class Light {
 public:
  Light(unsigned width, unsigned height)
      : width_(width), height_(height), pixels_(std::size_t{width} * height * 4, 0.0F) {}

  void add(double x, double y, const Colour& c, float amount) {
    const auto column = static_cast<std::int64_t>(x), row = static_cast<std::int64_t>(y);
    if (column < 0 || row < 0 || column >= width_ || row >= height_) return;
    float* p = &pixels_[static_cast<std::size_t>(row * width_ + column) * 4];
    p[0] += c.r * amount;
    p[1] += c.g * amount;
    p[2] += c.b * amount;
  }

  /// Three bytes a pixel. Brightness goes by the logarithm, up to that of the brightest thousandth.
  std::vector<std::uint8_t> developed() const {
    std::vector<std::uint32_t> histogram(4096, 0);
    const std::size_t n = pixels_.size() / 4;
    std::uint64_t lit = 0;
    const auto level = [](float l) { return std::log2(1.0F + l); };
    for (std::size_t i = 0; i < n; ++i) {
      const float l = brightest(i);
      if (l <= 0) continue;
      ++lit;
      ++histogram[std::min<std::size_t>(4095, static_cast<std::size_t>(level(l) * 100))];
    }
    std::size_t top = 4095;
    for (std::uint64_t above = 0; top > 1 && (above += histogram[top]) * 1000 < lit;) --top;
    const float full = std::max(0.01F, static_cast<float>(top) / 100);
    std::vector<std::uint8_t> bytes(n * 3);
    for (std::size_t i = 0; i < n; ++i) {
      const float l = brightest(i);
      if (l <= 0) continue;
      const float shown = std::min(1.0F, level(l) / full);
      const float white = std::max(0.0F, shown - 0.75F) * 2.4F;  // the densest turns white
      for (std::size_t c = 0; c < 3; ++c) {
        const float value = pixels_[i * 4 + c] / l * shown;
        bytes[i * 3 + c] = static_cast<std::uint8_t>(255.0F * std::min(1.0F, value + (1 - value) * white));
      }
    }
    return bytes;
  }

 private:
  float brightest(std::size_t i) const { return std::max({pixels_[i * 4], pixels_[i * 4 + 1], pixels_[i * 4 + 2]}); }
  std::int64_t width_, height_;
  std::vector<float> pixels_;
};

struct Point {
  double x = 0, y = 0;
};

class Painter {
 public:
  Painter(const Scene& scene, const PictureOptions& options)
      : scene_(scene), light_(options.width, options.height), scale_(options.width) {
    discs_ = lay_out(scene, static_cast<double>(options.height) / options.width);
    for (Disc& d : discs_) d.x *= scale_, d.y *= scale_, d.radius *= scale_;
    cells_.resize(discs_.size());
    for (std::size_t i = 0; i < discs_.size(); ++i) {
      for (std::uint32_t k = 0; k < kCells; ++k) {
        const double away = discs_[i].radius * std::sqrt((k + 0.5) / kCells);
        cells_[i].push_back({discs_[i].x + away * std::cos(k * kGolden), discs_[i].y + away * std::sin(k * kGolden)});
      }
    }
  }

  void edges(Picture& picture) {
    Bundle bundle;
    for (const Scene::Edges& e : scene_.edges) {
      bundle.assign(std::size_t{kCells} * kCells, 0);
      e.fill(bundle);
      const Colour colour = mixed(colour_of(scene_.clusters[e.from].layer), colour_of(scene_.clusters[e.to].layer));
      for (std::uint32_t a = 0; a < kCells; ++a) {
        for (std::uint32_t b = 0; b < kCells; ++b) {
          const std::uint32_t count = bundle[a * kCells + b];
          if (count == 0) continue;
          picture.edges += count;
          ++picture.lines;
          line(cells_[e.from][a], cells_[e.to][b], colour, static_cast<float>(count));
        }
      }
    }
  }

  /// Every vertex, on the spiral of its cluster.
  void dots(Picture& picture) {
    for (std::size_t i = 0; i < discs_.size(); ++i) {
      const std::uint64_t n = scene_.clusters[i].vertices;
      picture.vertices += n;
      if (n == 0) continue;
      const Disc& d = discs_[i];
      const Colour colour = colour_of(scene_.clusters[i].layer);
      // A cluster's dots give about the same light a pixel, however many there are.
      const double pixels = kPi * d.radius * d.radius + 1;
      const auto amount = static_cast<float>(3000.0 * std::max(pixels, 1.0) / static_cast<double>(n));
      double c = 1, s = 0;
      const double turn_c = std::cos(kGolden), turn_s = std::sin(kGolden);
      for (std::uint64_t k = 0; k < n; ++k) {
        const double away = d.radius * std::sqrt((static_cast<double>(k) + 0.5) / static_cast<double>(n));
        light_.add(d.x + away * c, d.y + away * s, colour, amount);
        const double next = c * turn_c - s * turn_s;
        s = s * turn_c + c * turn_s;
        c = next;
        if ((k & 1023) == 1023) {
          const double length = std::sqrt(c * c + s * s);
          c /= length, s /= length;
        }
      }
    }
  }

  [[nodiscard]] const Light& light() const { return light_; }
  [[nodiscard]] const std::vector<Disc>& discs() const { return discs_; }

 private:
  static Colour mixed(const Colour& a, const Colour& b) { return {(a.r + b.r) / 2, (a.g + b.g) / 2, (a.b + b.b) / 2}; }

  /// A bent line, a pixel a step; its light is the same on every pixel.
  void line(const Point& a, const Point& b, const Colour& colour, float count) {
    const double dx = b.x - a.x, dy = b.y - a.y;
    const double length = std::sqrt(dx * dx + dy * dy);
    const auto steps = static_cast<std::int64_t>(length * 1.03) + 1;
    const double mx = (a.x + b.x) / 2 - 0.14 * dy, my = (a.y + b.y) / 2 + 0.14 * dx;
    const double h = 1.0 / static_cast<double>(steps);
    // Forward differences of the parabola through a, bent towards (mx, my), to b.
    const double ax = a.x - 2 * mx + b.x, ay = a.y - 2 * my + b.y;
    double x = a.x, y = a.y;
    double vx = 2 * (mx - a.x) * h + ax * h * h, vy = 2 * (my - a.y) * h + ay * h * h;
    for (std::int64_t i = 0; i <= steps; ++i) {
      light_.add(x, y, colour, count);
      x += vx, y += vy;
      vx += 2 * ax * h * h, vy += 2 * ay * h * h;
    }
  }

  const Scene& scene_;
  Light light_;
  double scale_;
  std::vector<Disc> discs_;
  std::vector<std::vector<Point>> cells_;
};

std::vector<std::uint8_t> png_of(const std::vector<std::uint8_t>& rgb, unsigned width, unsigned height) {
  std::vector<std::uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::vector<png_bytep> rows(height);
  for (unsigned y = 0; y < height; ++y) rows[y] = const_cast<png_bytep>(&rgb[std::size_t{y} * width * 3]);
  if (setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    throw std::logic_error("libpng refuses a picture");
  }
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, png_size_t size) {
        auto* out = static_cast<std::vector<std::uint8_t>*>(png_get_io_ptr(p));
        out->insert(out->end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, 4);
  png_set_filter(png, 0, PNG_FILTER_SUB);
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < have ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= have ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string svg_of(const Scene& scene, const Painter& painter, const std::vector<std::uint8_t>& edges,
                   const PictureOptions& options) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"black\"/>\n"
      "<image width=\"{0}\" height=\"{1}\" href=\"data:image/png;base64,{3}\"/>\n",
      options.width, options.height, escaped(options.title), base64(edges));
  for (std::size_t i = 0; i < scene.clusters.size(); ++i) {
    const Scene::Cluster& c = scene.clusters[i];
    const Disc& d = painter.discs()[i];
    const Colour colour = colour_of(c.layer);
    const auto byte = [](float v) { return static_cast<int>(255 * v); };
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"rgb({},{},{})\" fill-opacity=\"0.6\">"
        "<title>{}: {} vertices</title></circle>\n",
        d.x, d.y, d.radius, byte(colour.r), byte(colour.g), byte(colour.b), escaped(c.label), c.vertices);
    if (d.radius * 40 < options.width) continue;
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"white\" font-family=\"sans-serif\" font-size=\"{:.1f}\" "
        "text-anchor=\"middle\">{}</text>\n",
        d.x, d.y, d.radius / 5, escaped(c.label));
  }
  return text + "</svg>\n";
}

}  // namespace

Format format_of(const std::string& file) {
  const auto ends = [&](const std::string& suffix) {
    return file.size() > suffix.size() && file.compare(file.size() - suffix.size(), suffix.size(), suffix) == 0;
  };
  if (ends(".png")) return Format::png;
  if (ends(".svg")) return Format::svg;
  throw Error(Category::usage, "a picture is a .png or .svg file", file, "name it so");
}

Picture draw(const Scene& scene, Format format, const PictureOptions& options) {
  constexpr unsigned kMost = 16384;
  if (options.width == 0 || options.height == 0 || options.width > kMost || options.height > kMost)
    throw Error(Category::usage, fmt::format("a picture of {} x {} pixels", options.width, options.height), "",
                fmt::format("sides are 1 to {}", kMost));
  if (scene.clusters.empty()) throw Error(Category::usage, "there is nothing to draw: the graph has no vertices");
  Picture picture;
  Painter painter(scene, options);
  painter.edges(picture);
  if (format == Format::svg) {
    for (const Scene::Cluster& c : scene.clusters) picture.vertices += c.vertices;
    const auto png = png_of(painter.light().developed(), options.width, options.height);
    const std::string text = svg_of(scene, painter, png, options);
    picture.bytes.assign(text.begin(), text.end());
  } else {
    painter.dots(picture);
    picture.bytes = png_of(painter.light().developed(), options.width, options.height);
  }
  return picture;
}

void write_picture(const Picture& picture, const std::string& file) {
  const std::string_view bytes(reinterpret_cast<const char*>(picture.bytes.data()), picture.bytes.size());
  if (!write_whole_file(file, bytes))
    throw Error(Category::usage, "the picture cannot be written", file,
                "choose a folder that is there, can be written and has space");
}

void check_picture(const std::string& file) {
  if (!may_write_file(file))
    throw Error(Category::usage, "the picture cannot be written", file,
                "choose a folder that is there and can be written");
}

}  // namespace tessera::scale
