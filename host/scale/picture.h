// Pictures of scenes: clusters as discs of dots, edges added up in a raster of light and brought to eight bits by a
// logarithm, so that a single edge and ten million are both seen. The same scene gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/scale/scene.h"

namespace tessera::scale {

struct PictureOptions {
  unsigned width = 3840, height = 2160;
  std::string title;  ///< of an SVG
};

struct Picture {
  std::vector<std::uint8_t> bytes;  ///< of the file
  std::uint64_t vertices = 0;       ///< dots drawn, one each
  std::uint64_t edges = 0;          ///< edges added up
  std::uint64_t lines = 0;          ///< different lines that they share
};

/// Whether a file name ends in .png or .svg. Throws Error (usage) otherwise.
enum class Format { png, svg };
[[nodiscard]] Format format_of(const std::string& file);

/// An SVG holds the edges as an embedded raster and the clusters as circles with their names and counts. Throws Error
/// (usage) for a side of 0 or more than 16384 pixels.
[[nodiscard]] Picture draw(const Scene& scene, Format format, const PictureOptions& options);

/// Throws Error (usage) that names the file if it cannot be written.
void write_picture(const Picture& picture, const std::string& file);
/// Error (usage) if write_picture could not put a file there; leaves what is there alone.
void check_picture(const std::string& file);

}  // namespace tessera::scale
